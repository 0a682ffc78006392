#pragma once

#include <bit>
#include <cstdint>

namespace meshwork {

/// IEEE 754's binary16: 11 significant bits, up to 65504. Only stored and moved, as BFloat16.
struct Float16 {
  std::uint16_t bits;

  Float16() = default;

  /// The nearest one, of two the even one; infinity beyond the range; NaN stays NaN.
  [[gnu::always_inline]] explicit Float16(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t size = all & 0x7FFFFFFFU;
    const std::uint32_t normal = ((size + 0xFFFU + ((size >> 13U) & 1U)) >> 13U) - (112U << 10U);
    // Units of 2^-24 are the last bits of this sum.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) -
                                std::bit_cast<std::uint32_t>(0.5F);
    std::uint32_t rounded = size < kFirstNormal ? small : normal;
    if (size >= kBeyond) rounded = kInfinity;
    if (x != x) rounded = kNaN;
    bits = static_cast<std::uint16_t>(((all >> 16U) & 0x8000U) | rounded);
  }

  [[gnu::always_inline]] operator float() const {
    const std::uint32_t size = bits & 0x7FFFU;
    const std::uint32_t normal = (size << 13U) + (112U << 23U);
    const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(size) * (1.0F / 16777216));
    std::uint32_t wide = size < 0x400U ? small : normal;
    if (size >= kInfinity) wide = (size << 13U) | 0x7F800000U;
    return std::bit_cast<float>((bits & 0x8000U) << 16U | wide);
  }

 private:
  static constexpr std::uint32_t kFirstNormal = 0x38800000U;  ///< 2^-14
  static constexpr std::uint32_t kBeyond = 0x477FF000U;       ///< 65520
  static constexpr std::uint32_t kInfinity = 0x7C00U;
  static constexpr std::uint32_t kNaN = 0x7E00U;
};

}  // namespace meshwork
