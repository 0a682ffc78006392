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
    std::uint32_t rounded = choose(size < kFirstNormal, small, normal);
    rounded = choose(size >= kBeyond, kInfinity, rounded);
    rounded = choose(size > kWideInfinity, kNaN, rounded);
    bits = static_cast<std::uint16_t>(((all >> 16U) & 0x8000U) | rounded);
  }

  [[gnu::always_inline]] operator float() const {
    const std::uint32_t size = bits & 0x7FFFU;
    const std::uint32_t normal = (size << 13U) + (112U << 23U);
    // As the fraction of a number from 2^-14 on, of which that is taken away.
    const auto small = std::bit_cast<std::uint32_t>(
        std::bit_cast<float>(kFirstNormal + (size << 13U)) - std::bit_cast<float>(kFirstNormal));
    std::uint32_t wide = choose(size < 0x400U, small, normal);
    wide = choose(size >= kInfinity, (size << 13U) | kWideInfinity, wide);
    return std::bit_cast<float>((bits & 0x8000U) << 16U | wide);
  }

 private:
  /// Without a branch, in which floating-point numbers would keep loops from being vectorized.
  [[gnu::always_inline]] static std::uint32_t choose(bool condition, std::uint32_t a,
                                                     std::uint32_t b) {
    const std::uint32_t mask = condition ? ~std::uint32_t{0} : 0;
    return (a & mask) | (b & ~mask);
  }

  static constexpr std::uint32_t kFirstNormal = 0x38800000U;  ///< 2^-14
  static constexpr std::uint32_t kBeyond = 0x477FF000U;       ///< 65520
  static constexpr std::uint32_t kInfinity = 0x7C00U;
  static constexpr std::uint32_t kWideInfinity = 0x7F800000U;  ///< of float32
  static constexpr std::uint32_t kNaN = 0x7E00U;
};

}  // namespace meshwork
