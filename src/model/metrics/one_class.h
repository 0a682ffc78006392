#pragma once

#include <cstdint>
#include <optional>

#include "config/value.h"
#include "model/losses/loss.h"

namespace meshwork::metrics {

/// The key `class_id`: which element of the last dimension counts alone, from its end where it is
/// negative; all without it.
std::optional<std::int64_t> read_class_id(config::Reader& args);

/// As match_shapes(); of one class alone [.., classes] -> [.., 1]. An Error where there is no such.
Matched match_class(const Comparison& c, std::optional<std::int64_t> class_id);

}  // namespace meshwork::metrics
