#pragma once

#include <cstdint>
#include <span>

namespace meshwork::data {

/// Fills `order` with a permutation of 0..n-1: that of pass `pass` over the data, the same on every
/// device and every machine. All n! are equally likely (Fisher-Yates without bias).
void permutation(std::uint64_t seed, std::uint64_t pass, std::span<std::int64_t> order);

}  // namespace meshwork::data
