#pragma once

#include <bit>
#include <cstdint>

namespace meshwork {

/// The upper half of a float32: its range with 8 significant bits. Only stored and moved: what
/// computes does so in float32, to which it converts by itself, and rounds the result.
struct BFloat16 {
  std::uint16_t bits;

  BFloat16() = default;

  /// The nearest one, of two the even one; infinity beyond the range; NaN stays NaN. Subnormal
  /// numbers are kept, which the instructions of processors for this do not do: every machine gives
  /// the same bits.
  [[gnu::always_inline]] explicit BFloat16(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (all + 0x7FFFU + ((all >> 16) & 1U)) >> 16;
    const std::uint32_t quiet = (all >> 16) | 0x40U;
    bits = static_cast<std::uint16_t>(x != x ? quiet : rounded);
  }

  [[gnu::always_inline]] operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

}  // namespace meshwork
