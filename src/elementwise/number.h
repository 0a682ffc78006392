#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// The words in which entries say their formulas, beside the operators of numbers: here for numbers
/// themselves, in a code generator for what writes them down. None of them branches, so that loops
/// over formulas vectorize; of numbers themselves nothing is fused, so that every instruction set
/// gives the same bits.
namespace meshwork::elementwise {

using std::copysign;
using std::cos;
using std::erf;
using std::exp;
using std::expm1;
using std::fabs;
using std::floor;
using std::log;
using std::log1p;
using std::pow;
using std::sin;
using std::sqrt;
using std::tanh;

template <class T>
[[gnu::always_inline]] inline T choose(bool condition, T a, T b) {
  if (condition) return a;
  return b;
}

/// a b + c, which what writes a formula down may round once.
template <class T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T c) {
  return a * b + c;
}

/// (.. (first x + rest) x + ..) x + the last one
template <class T, class... Coefficients>
[[gnu::always_inline]] inline T horner(T x, float first, Coefficients... rest) {
  T y = T(first);
  ((y = multiply_add(y, x, T(rest))), ...);
  return y;
}

/// 1 or 0.
[[gnu::always_inline]] inline float truth(bool condition) { return condition ? 1.0F : 0.0F; }

// a + b, a - b and a b, of which whole numbers wrap around.
template <class T>
[[gnu::always_inline]] inline T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  } else {
    return a + b;
  }
}

template <class T>
[[gnu::always_inline]] inline T difference(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) - static_cast<Wrapping>(b));
  } else {
    return a - b;
  }
}

template <class T>
[[gnu::always_inline]] inline T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  } else {
    return a * b;
  }
}

// The word of a float as a whole number, which >> and << shift with its sign; a float of such a
// word; a whole number as a float.
[[gnu::always_inline]] inline std::int32_t word_of(float x) {
  return std::bit_cast<std::int32_t>(x);
}
[[gnu::always_inline]] inline float from_word(std::int32_t word) {
  return std::bit_cast<float>(word);
}
[[gnu::always_inline]] inline float to_real(std::int32_t x) { return static_cast<float>(x); }

}  // namespace meshwork::elementwise
