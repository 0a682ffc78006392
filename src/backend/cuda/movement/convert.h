#pragma once

#include <string_view>

namespace meshwork::cuda {

/// Convert<To>::of(x): x as a To. A fraction is cut off towards zero; a float beyond the range of a
/// whole-number type gives the end of the range and NaN gives 0; whole numbers that do not fit wrap
/// around.
inline constexpr std::string_view kConvertText = R"cuda(
template <class Number>
struct Range;
template <>
struct Range<uint8> {
  static constexpr uint8 kFirst = 0, kLast = 255;
};
template <>
struct Range<int32> {
  static constexpr int32 kFirst = -2147483647 - 1, kLast = 2147483647;
};
template <>
struct Range<int64> {
  static constexpr int64 kFirst = -9223372036854775807ll - 1, kLast = 9223372036854775807ll;
};

template <class To>
struct Convert {
  template <class From>
  DEVICE To of(From x) {
    return whole(computed(x));
  }
  template <class From>
  DEVICE To whole(From x) {
    return (To)x;
  }
  DEVICE To whole(float x) {
    // 2^bits is a float, the greatest To often is not.
    const float end = 2 * (float)(Range<To>::kLast / 2 + 1);
    if (x >= end) return Range<To>::kLast;
    if (x <= (float)Range<To>::kFirst) return Range<To>::kFirst;
    return x != x ? (To)0 : (To)x;
  }
};

template <class To>
struct ToFloat {
  template <class From>
  DEVICE To of(From x) {
    return from_float<To>(to_float(x));
  }
};
template <>
struct Convert<float> : ToFloat<float> {};
template <>
struct Convert<bfloat16> : ToFloat<bfloat16> {};
template <>
struct Convert<float16> : ToFloat<float16> {};
)cuda";

}  // namespace meshwork::cuda
