// Floats of 16 bits. Freestanding: kernels include it.
#pragma once

namespace emulated_gpu {

template <class To, class From>
inline To bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

/// To the nearest, of two to the even one; NaN stays NaN.
inline unsigned short to_bfloat16(float x) {
  const unsigned all = bits<unsigned>(x);
  if (x != x) return static_cast<unsigned short>((all >> 16U) | 0x40U);
  return static_cast<unsigned short>((all + 0x7FFFU + ((all >> 16U) & 1U)) >> 16U);
}

inline float from_bfloat16(unsigned short x) {
  return bits<float>(static_cast<unsigned>(x) << 16U);
}

/// As PTX's cvt.rn.f16.f32: the nearest one, of two the even one; infinity beyond
/// the range; every NaN is the same one.
inline unsigned short to_float16(float x) {
  constexpr unsigned kInfinity = 0x7F800000U;
  constexpr unsigned kBeyond = 0x477FF000U;  // 65520: half way to the first that does not fit
  constexpr unsigned kNormal = 0x38800000U;  // 2^-14
  const unsigned all = bits<unsigned>(x);
  const unsigned size = all & 0x7FFFFFFFU;
  const unsigned sign = (all >> 16U) & 0x8000U;
  if (size > kInfinity) return 0x7FFF;
  if (size >= kBeyond) return static_cast<unsigned short>(sign | 0x7C00U);
  if (size < kNormal) {
    // Units of 2^-24 are the last bits of this sum.
    const unsigned sum = bits<unsigned>(bits<float>(size) + 0.5F);
    return static_cast<unsigned short>(sign | (sum - bits<unsigned>(0.5F)));
  }
  const unsigned rounded = size + 0xFFFU + ((size >> 13U) & 1U);
  return static_cast<unsigned short>(sign | ((rounded >> 13U) - (112U << 10U)));
}

/// As PTX's cvt.f32.f16: every NaN is the same one.
inline float from_float16(unsigned short x) {
  const unsigned sign = (x & 0x8000U) << 16U;
  const unsigned exponent = (x >> 10U) & 31U;
  const unsigned fraction = x & 0x3FFU;
  if (exponent == 31 && fraction != 0) return bits<float>(0x7FFFFFFFU);
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * (1.0F / 16777216.0F);
    return bits<float>(sign | bits<unsigned>(size));
  }
  const unsigned wide = exponent == 31 ? 255U : exponent + 112U;
  return bits<float>(sign | wide << 23U | fraction << 13U);
}

}  // namespace emulated_gpu
