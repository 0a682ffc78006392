#pragma once

#include "elementwise/list.h"
#include "elementwise/number.h"

/// Functions of libm, which reduces angles of any size.
namespace meshwork::elementwise {

struct Sine;

/// y = cos(x)
struct Cosine {
  static constexpr Traits kTraits{.name = "cosine", .ulps = 1.0};
  template <class T>
  static T exact(T x) {
    return cos(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return cos(x);
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return -(dy * V::template of<Sine>(x));
  }
};
inline constexpr const OpDef& kCosine = kOp<Cosine>;

/// y = sin(x)
struct Sine {
  static constexpr Traits kTraits{.name = "sine", .ulps = 1.0};
  template <class T>
  static T exact(T x) {
    return sin(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    return sin(x);
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy * V::template of<Cosine>(x);
  }
};
inline constexpr const OpDef& kSine = kOp<Sine>;

}  // namespace meshwork::elementwise
