#pragma once

#include <array>

#include "elementwise/list.h"
#include "elementwise/number.h"

namespace meshwork::elementwise {

/// y = 1 where a = b, else 0
struct Equal {
  static constexpr Traits kTraits{.name = "equal", .types = Types::kTruth};
  template <class T>
  [[gnu::always_inline]] static auto apply(T a, T b) {
    return truth(a == b);
  }
};
inline constexpr const OpDef& kEqual = kOp<Equal>;

/// y = 1 where a > b, else 0
struct Greater {
  static constexpr Traits kTraits{.name = "greater", .types = Types::kTruth};
  template <class T>
  [[gnu::always_inline]] static auto apply(T a, T b) {
    return truth(a > b);
  }
};
inline constexpr const OpDef& kGreater = kOp<Greater>;

/// y = 1 where a >= b, else 0
struct GreaterEqual {
  static constexpr Traits kTraits{.name = "greater_equal", .types = Types::kTruth};
  template <class T>
  [[gnu::always_inline]] static auto apply(T a, T b) {
    return truth(a >= b);
  }
};
inline constexpr const OpDef& kGreaterEqual = kOp<GreaterEqual>;

/// Gradients of an op that passes on one of two operands, of which the first wins where `first` is
/// greater than `second`; where they are equal, each gets half.
template <class V>
std::array<V, 2> share_of_winner(V a, V b, V first, V second, V dy) {
  const V half = (a == b) * 0.5;
  const V a_wins = (first > second) + half;
  const V b_wins = (second > first) + half;
  const V da = dy * a_wins;
  return {da, dy * b_wins};
}

/// y = the greater of a and b, NaN if either is
struct Maximum {
  static constexpr Traits kTraits{.name = "maximum", .types = Types::kNumber};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    const T greater = choose(a > b, a, b);  // one instruction; b where either is NaN
    return choose(a != a, a, greater);
  }
  template <class V>
  static std::array<V, 2> gradient(V a, V b, V /*y*/, V dy) {
    return share_of_winner(a, b, a, b, dy);
  }
};
inline constexpr const OpDef& kMaximum = kOp<Maximum>;

/// y = the smaller of a and b, NaN if either is
struct Minimum {
  static constexpr Traits kTraits{.name = "minimum", .types = Types::kNumber};
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    const T smaller = choose(a < b, a, b);
    return choose(a != a, a, smaller);
  }
  template <class V>
  static std::array<V, 2> gradient(V a, V b, V /*y*/, V dy) {
    return share_of_winner(a, b, b, a, dy);
  }
};
inline constexpr const OpDef& kMinimum = kOp<Minimum>;

/// y = max(x, 0); the gradient at 0 is 0
struct Relu {
  static constexpr Traits kTraits{.name = "relu"};
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return choose(x < T(0), T(0), x);
  }
  /// The result tells the sign of x, so that x need not be kept.
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return dy * (y > 0.0);
  }
};
inline constexpr const OpDef& kRelu = kOp<Relu>;

/// y = a where the condition is not 0, else b
struct Select {
  static constexpr Traits kTraits{.name = "select", .types = Types::kChoice};
  template <class C, class T>
  [[gnu::always_inline]] static T apply(C condition, T a, T b) {
    return choose(condition != C(0), a, b);
  }
  template <class V>
  static std::array<V, 3> gradient(V condition, V /*a*/, V /*b*/, V /*y*/, V dy) {
    const V zero = constant(0.0, dy);
    const V da = V::template of<Select>(condition, dy, zero);
    return {V{}, da, V::template of<Select>(condition, zero, dy)};
  }
};
inline constexpr const OpDef& kSelect = kOp<Select>;

}  // namespace meshwork::elementwise
