#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"

namespace meshwork::data {

/// What is odd about the labels of samples that were taken off the end of others, as of data that
/// are sorted by them: "37 of them have labels that no other sample has, such as 2"; nothing where
/// all is well, or no field is numbers of classes, one for each sample. Reads these fields whole.
std::optional<std::string> odd_labels(const Split& train, const Split& taken);

}  // namespace meshwork::data
