#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/value.h"

namespace meshwork::layers {

/// One part of a key such as ":, 0, 1:-1, ..., None", in numpy's words.
struct KeyPart {
  enum class Kind { kIndex, kSlice, kEllipsis, kNewAxis };

  Kind kind = Kind::kSlice;
  std::int64_t index = 0;                                        ///< of kIndex
  std::optional<std::int64_t> start = {}, stop = {}, step = {};  ///< of kSlice
};

/// The parts of a key, which is one text, or a list of texts and numbers.
std::vector<KeyPart> read_key(const config::Value& key);

}  // namespace meshwork::layers
