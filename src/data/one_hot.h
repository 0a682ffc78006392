#pragma once

#include <cstdint>
#include <memory>

#include "data/formats/source.h"

namespace meshwork::data {

/// The labels [n, ...] of a source as vectors [n, ..., classes] of 0 and a 1 at the label's place.
/// `labels` is how the stored numbers become labels. A label outside of 0..classes-1 is an Error
/// when it is read.
std::unique_ptr<Source> one_hot(std::unique_ptr<Source> source, const Conversion& labels,
                                std::int64_t classes);

}  // namespace meshwork::data
