#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace meshwork::data {

/// A number that stands for the samples of a split: how many there are, their fields and how these
/// are converted, what numbers of tokens stand for, and the stored numbers of some samples from the
/// first to the last. Of data that change between two runs, or differ between two machines, it
/// nearly always differs. Throws what reading them throws.
std::uint64_t fingerprint(const Split& split);

}  // namespace meshwork::data
