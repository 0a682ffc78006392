#pragma once

#include <string_view>

namespace meshwork::cuda {

/// The random numbers of base/rng.h: Philox4x32-10 (Salmon et al., SC'11), keyed by key, step and
/// global element. Uniform numbers have the same bits. Normal ones take the same operations in
/// double precision; log and cos of the two libraries differ in the last place of a double, so a
/// float differs by its last place at most, and rarely. Part of a source that draws.
inline constexpr std::string_view kGeneratorText = R"cuda(
struct Bits {
  uint32 at[4];
};

DEVICE Bits philox(uint64 key, uint64 high, uint64 low) {
  Bits c{{(uint32)low, (uint32)(low >> 32), (uint32)high, (uint32)(high >> 32)}};
  uint32 k0 = (uint32)key, k1 = (uint32)(key >> 32);
#pragma unroll
  for (int32 round = 0; round < 10; ++round) {
    const uint64 p0 = (uint64)0xD2511F53u * c.at[0];
    const uint64 p1 = (uint64)0xCD9E8D57u * c.at[2];
    c = {{(uint32)(p1 >> 32) ^ c.at[1] ^ k0, (uint32)p1, (uint32)(p0 >> 32) ^ c.at[3] ^ k1,
          (uint32)p0}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// In [0, 1), of 24 bits.
DEVICE float uniform_of(uint32 bits) { return (float)(bits >> 8) * (1.0f / 16777216.0f); }

// Box-Muller.
DEVICE float64 normal_of(uint32 first, uint32 second) {
  const float64 u1 = (first + 0.5) / 4294967296.0;  // in (0, 1): the logarithm is finite
  const float64 u2 = second / 4294967296.0;
  return sqrt(-2.0 * log(u1)) * cos(6.283185307179586 * u2);
}

// Of element `index`: the lanes 2 * (index % 2) and the next of counter index / 2.
DEVICE float64 normal_at(uint64 key, uint64 step, uint64 index, uint64 attempt) {
  const Bits bits = philox(key, attempt << 48 ^ step, index / 2);
  return index % 2 == 0 ? normal_of(bits.at[0], bits.at[1]) : normal_of(bits.at[2], bits.at[3]);
}
)cuda";

}  // namespace meshwork::cuda
