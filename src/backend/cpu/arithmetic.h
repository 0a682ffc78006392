#pragma once

#include <cmath>
#include <type_traits>

/// Arithmetic that is the same for every number: what the loops of elementwise ops apply.
/// Whole numbers wrap around; NaN passes through.
namespace meshwork::cpu {

/// Whole numbers as unsigned ones, whose overflow is defined.
template <class T>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Wrapping<float> {
  using Type = float;
};

struct Add {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

struct Subtract {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) - static_cast<W>(b));
  }
};

struct Multiply {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

struct Divide {
  [[gnu::always_inline]] static float apply(float a, float b) { return a / b; }
};

struct Power {
  static float apply(float a, float b) { return std::pow(a, b); }
};

struct Maximum {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    const T greater = a > b ? a : b;  // one instruction; b where either is NaN
    return a != a ? a : greater;
  }
};

struct Minimum {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

struct Equal {
  template <class T>
  [[gnu::always_inline]] static float apply(T a, T b) {
    return a == b ? 1.0F : 0.0F;
  }
};

struct Greater {
  template <class T>
  [[gnu::always_inline]] static float apply(T a, T b) {
    return a > b ? 1.0F : 0.0F;
  }
};

struct GreaterEqual {
  template <class T>
  [[gnu::always_inline]] static float apply(T a, T b) {
    return a >= b ? 1.0F : 0.0F;
  }
};

struct Select {
  template <class T>
  [[gnu::always_inline]] static T apply(float condition, T a, T b) {
    return condition != 0.0F ? a : b;
  }
};

struct Abs {
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return std::fabs(x);
    } else {
      return x < 0 ? Subtract::apply(T{0}, x) : x;
    }
  }
};

struct Negate {
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return -x;
    } else {
      return Subtract::apply(T{0}, x);
    }
  }
};

struct Sign {
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T sign = x > T{0} ? T{1} : x < T{0} ? static_cast<T>(-1) : T{0};
    return x != x ? x : sign;
  }
};

struct Square {
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return Multiply::apply(x, x);
  }
};

}  // namespace meshwork::cpu
