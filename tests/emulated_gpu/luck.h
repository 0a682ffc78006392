#pragma once

#include <cstdint>

namespace emulated_gpu {

/// The next number of a sequence without visible order (splitmix64).
inline std::uint64_t next_luck(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace emulated_gpu
