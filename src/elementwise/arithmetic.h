#pragma once

#include <array>

#include "elementwise/list.h"
#include "elementwise/number.h"

namespace meshwork::elementwise {

/// y = |x|; the gradient at 0 is 0
struct Abs {
  static constexpr Traits kTraits{.name = "abs", .types = Types::kNumber};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return choose(x < 0, difference(T{0}, x), x);
    } else {
      return fabs(x);
    }
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy * V::template of<Sign>(x);
  }
};
inline constexpr const OpDef& kAbs = kOp<Abs>;

/// y = a + b
struct Add {
  static constexpr Traits kTraits{
      .name = "add", .types = Types::kNumber, .linear = Linear::kJointly, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return sum(a, b);
  }
  template <class V>
  static std::array<V, 2> gradient(V /*a*/, V /*b*/, V /*y*/, V dy) {
    return {dy, dy};
  }
};
inline constexpr const OpDef& kAdd = kOp<Add>;

/// y = a / b
struct Divide {
  static constexpr Traits kTraits{.name = "divide", .linear = Linear::kFirst, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a / b;
  }
  /// da = dy / b; db = -dy a / b^2 = -da y
  template <class V>
  static std::array<V, 2> gradient(V /*a*/, V b, V y, V dy) {
    const V da = dy / b;
    return {da, -(da * y)};
  }
};
inline constexpr const OpDef& kDivide = kOp<Divide>;

/// y = the largest integer that is not above x
struct Floor {
  static constexpr Traits kTraits{.name = "floor"};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return floor(x);
  }
};
inline constexpr const OpDef& kFloor = kOp<Floor>;

/// y = a b
struct Multiply {
  static constexpr Traits kTraits{
      .name = "multiply", .types = Types::kNumber, .linear = Linear::kEach, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return product(a, b);
  }
  template <class V>
  static std::array<V, 2> gradient(V a, V b, V /*y*/, V dy) {
    const V da = dy * b;
    return {da, dy * a};
  }
};
inline constexpr const OpDef& kMultiply = kOp<Multiply>;

/// y = -x
struct Negate {
  static constexpr Traits kTraits{
      .name = "negate", .types = Types::kNumber, .linear = Linear::kJointly, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return difference(T{0}, x);
    } else {
      return -x;
    }
  }
  template <class V>
  static V gradient(V /*x*/, V /*y*/, V dy) {
    return -dy;
  }
};
inline constexpr const OpDef& kNegate = kOp<Negate>;

/// y = a^b
struct Power {
  static constexpr Traits kTraits{.name = "power"};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return pow(a, b);
  }
  template <class V>
  static std::array<V, 2> gradient(V a, V b, V y, V dy) {
    const V zero = constant(0.0, y), one = constant(1.0, y);
    // da = dy b a^(b - 1), but 0 where b is 0, also at a = 0, where a^-1 is infinite.
    const V below = b - one;
    const V exponent = V::template of<Select>(b == zero, one, below);
    const V da = dy * (b * V::template of<Power>(a, exponent));
    // db = dy y ln(a), but 0 where a has no logarithm.
    const V log = V::template of<Log>(V::template of<Select>(a > zero, a, one));
    return {da, (dy * y) * log};
  }
};
inline constexpr const OpDef& kPower = kOp<Power>;

/// y = -1, 0 or 1, as x is below, at or above 0
struct Sign {
  static constexpr Traits kTraits{.name = "sign", .types = Types::kNumber};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T sign = choose(x > T(0), T(1), choose(x < T(0), T(-1), T(0)));
    return choose(x != x, x, sign);
  }
};
inline constexpr const OpDef& kSign = kOp<Sign>;

/// y = sqrt(x)
struct Sqrt {
  static constexpr Traits kTraits{.name = "sqrt", .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return sqrt(x);
  }
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return dy / y * 0.5;
  }
};
inline constexpr const OpDef& kSqrt = kOp<Sqrt>;

/// y = x^2
struct Square {
  static constexpr Traits kTraits{.name = "square", .types = Types::kNumber, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return product(x, x);
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy * (x * 2.0);
  }
};
inline constexpr const OpDef& kSquare = kOp<Square>;

/// y = a - b
struct Subtract {
  static constexpr Traits kTraits{
      .name = "subtract", .types = Types::kNumber, .linear = Linear::kJointly, .folds = true};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return difference(a, b);
  }
  template <class V>
  static std::array<V, 2> gradient(V a, V b, V /*y*/, V dy) {
    const V da = sum_to(dy, a);
    return {da, -sum_to(dy, b)};  // the fewer elements are negated
  }
};
inline constexpr const OpDef& kSubtract = kOp<Subtract>;

}  // namespace meshwork::elementwise
