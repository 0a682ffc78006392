#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"

namespace meshwork::data {

/// What to say of a split of a dataset of which `take` leaves so much out that whole classes of a
/// folder of images, which is read class by class, are missing; nothing where all is well.
std::optional<std::string> taken_classes(const Split& split);

}  // namespace meshwork::data
