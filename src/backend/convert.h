#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/bfloat16.h"
#include "base/float16.h"

namespace meshwork {

template <class T>
inline constexpr bool kIsNarrow = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// The type in which numbers of type T are computed with, and a number in it.
template <class T>
using Computed = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T>
[[gnu::always_inline]] inline Computed<T> computed(T x) {
  return static_cast<Computed<T>>(x);
}

/// x as a To. A fraction is cut off towards zero; a float beyond the range of a whole-number type
/// gives the end of the range and NaN gives 0; whole numbers that do not fit wrap around.
template <class To, class From>
[[gnu::always_inline]] inline To convert(From x) {
  if constexpr (kIsNarrow<From> || kIsNarrow<To>) {
    return static_cast<To>(convert<Computed<To>>(computed(x)));
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    // 2^bits is a float, the greatest To often is not.
    constexpr auto kEnd = 2 * static_cast<float>(std::numeric_limits<To>::max() / 2 + 1);
    constexpr auto kBegin = static_cast<float>(std::numeric_limits<To>::min());
    if (x >= kEnd) return std::numeric_limits<To>::max();
    if (x <= kBegin) return std::numeric_limits<To>::min();
    return x != x ? To{0} : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace meshwork
