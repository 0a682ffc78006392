#pragma once

#include <limits>
#include <numbers>

#include "elementwise/list.h"
#include "elementwise/number.h"

/// Polynomials are least-squares fits (reweighted towards the minimax one, then rounded coefficient
/// by coefficient to float) to the functions named beside them.
namespace meshwork::elementwise {

/// y = e^x. x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 P(r).
struct Exp {
  static constexpr Traits kTraits{.name = "exp", .ulps = 1.0};
  template <class T>
  static T exact(T x) {
    return exp(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    if constexpr (requires { native_exp(x); }) return native_exp(x);
    // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
    constexpr float kRound = 12582912.0F;
    T bounded = choose(x < -104.0F, T(-104.0F), x);  // 0 below, infinity above; NaN stays
    bounded = choose(bounded > 89.0F, T(89.0F), bounded);
    const T rounded = multiply_add(bounded, T(1.44269504F), T(kRound));
    const T n = rounded - kRound;
    // ln 2 in two parts
    const T r = multiply_add(n, T(2.12194440e-4F), multiply_add(n, T(-0.693359375F), bounded));
    const T p = horner(r, 0.000194284876F, 0.0013936928F, 0.00833419245F, 0.0416664444F,
                       0.166666627F, 0.5F);
    const T y = multiply_add(p, r * r, r) + 1.0F;
    // 2^n as the product of two, so that neither leaves the range of normal numbers.
    const auto whole = word_of(rounded) - word_of(kRound);
    const auto half = whole >> 1;
    return (y * from_word((half + 127) << 23)) * from_word((whole - half + 127) << 23);
  }
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return dy * y;
  }
};
inline constexpr const OpDef& kExp = kOp<Exp>;

/// y = e^x - 1, exact for small x. |x| < 1.1: x + x^2 P(x); beyond: e^x - 1.
struct Expm1 {
  static constexpr Traits kTraits{.name = "expm1", .ulps = 1.7};
  template <class T>
  static T exact(T x) {
    return expm1(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T p = horner(x, 2.80446193e-06F, 2.54541937e-05F, 0.000198397363F, 0.00138842477F,
                       0.00833332073F, 0.041666761F, 0.166666672F, 0.5F);
    const T small = multiply_add(x * x, p, x);
    return choose(fabs(x) < 1.1F, small, Exp::apply(x) - 1.0F);
  }
  /// dx = dy e^x
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return dy * (y + 1.0);
  }
};
inline constexpr const OpDef& kExpm1 = kOp<Expm1>;

/// y = ln(x). x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); ln(1 + f) = f - f^2/2 + f^3 P(f).
struct Log {
  static constexpr Traits kTraits{.name = "log", .ulps = 1.0};
  template <class T>
  static T exact(T x) {
    return log(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto tiny = x < std::numeric_limits<float>::min();
    const T normal = choose(tiny, x * 8388608.0F, x);  // 2^23
    const auto word = word_of(normal);
    const auto exponent = difference(word, 0x3f3504f3) >> 23;
    const T f = from_word(difference(word, exponent << 23)) - 1.0F;
    const T e = to_real(exponent) - choose(tiny, T(23.0F), T(0.0F));
    const T p = horner(f, 0.0673301071F, -0.116606608F, 0.11886204F, -0.124081969F, 0.142202333F,
                       -0.166678548F, 0.20002073F, -0.250000119F, 0.333333135F);
    const T square = f * f;
    const T tail = ((p * f) * square + e * -2.12194440e-4F) - 0.5F * square;
    T y = (f + tail) + e * 0.693359375F;
    y = choose(x == 0.0F, T(-kInfinity), y);
    y = choose(x < 0.0F, T(std::numeric_limits<float>::quiet_NaN()), y);
    return choose(x < kInfinity, y, x);  // NaN and infinity as they are
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy / x;
  }
};
inline constexpr const OpDef& kLog = kOp<Log>;

/// y = ln(1 + x), exact for small x: the rounding error of 1 + x is known and made good.
struct Log1p {
  static constexpr Traits kTraits{.name = "log1p", .ulps = 1.6};
  template <class T>
  static T exact(T x) {
    return log1p(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T u = 1.0F + x;
    const T lost = choose(x > 1.0F, 1.0F - (u - x), x - (u - 1.0F));
    const T log = Log::apply(u);
    // At -1 and infinity the correction is no number.
    const auto regular = (u > 0.0F) & (u < std::numeric_limits<float>::infinity());
    return choose(regular, log + lost / u, log);
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy / (x + 1.0);
  }
};
inline constexpr const OpDef& kLog1p = kOp<Log1p>;

/// y = tanh(x). |x| < 0.625: x + x^3 P(x^2); beyond: 1 - 2 / (e^2|x| + 1).
struct Tanh {
  static constexpr Traits kTraits{.name = "tanh", .ulps = 1.5};
  template <class T>
  static T exact(T x) {
    return tanh(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T a = fabs(x);
    const T z = x * x;
    const T p = horner(z, 0.0021571843F, -0.00819467846F, 0.02170863F, -0.0539484508F, 0.133332223F,
                       -0.333333313F);
    const T small = multiply_add(x * z, p, x);
    const T large = copysign(1.0F - 2.0F / (Exp::apply(a + a) + 1.0F), x);
    return choose(a < 0.625F, small, large);
  }
  /// dx = dy (1 - y^2)
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return dy - dy * V::template of<Square>(y);
  }
};
inline constexpr const OpDef& kTanh = kOp<Tanh>;

/// y = erf(x) = 2 / sqrt(pi) * integral from 0 to x of exp(-t^2) dt.
/// |x| < 1.125: x + x P(x^2 - 0.625); beyond: 1 - Q(t - 2.5) with t = |x|.
struct Erf {
  static constexpr Traits kTraits{.name = "erf", .ulps = 1.3};
  template <class T>
  static T exact(T x) {
    return erf(x);
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T a = fabs(x);
    const T z = multiply_add(x, x, T(-0.625F));
    const T p = horner(z, 7.021917e-05F, -0.00051153207F, 0.0031475239F, -0.016627258F, 0.07286908F,
                       -0.26205027F, -0.06845938F);
    const T small = multiply_add(x, p, x);
    const T t = choose(a > 3.95F, T(3.95F), a) - 2.5F;  // 1 from there on
    const T q = horner(t, 8.8791785e-06F, -2.0922533e-05F, -6.0604933e-05F, 0.00027837962F,
                       -0.00028899347F, -0.0005695598F, 0.0028203696F, -0.0061037773F, 0.008614455F,
                       -0.008353102F, 0.0054467744F, -0.0021780885F, 0.0004069289F);
    const T large = copysign(1.0F - q, x);
    return choose(a < 1.125F, small, large);
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    const V bell = V::template of<Exp>(-V::template of<Square>(x));
    return dy * (bell * (2 / std::sqrt(std::numbers::pi)));
  }
};
inline constexpr const OpDef& kErf = kOp<Erf>;

/// y = 1 / (1 + e^-x), without overflow on either side
struct Sigmoid {
  static constexpr Traits kTraits{.name = "sigmoid", .ulps = 2.4};
  template <class T>
  static T exact(T x) {
    return 1.0 / (1.0 + exp(-x));
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T e = Exp::apply(-fabs(x));
    return choose(x < 0.0F, e, T(1.0F)) / (1.0F + e);
  }
  /// dx = dy y (1 - y) = (dy - dy y) y
  template <class V>
  static V gradient(V /*x*/, V y, V dy) {
    return (dy - dy * y) * y;
  }
};
inline constexpr const OpDef& kSigmoid = kOp<Sigmoid>;

/// y = ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), which never overflows
struct Softplus {
  static constexpr Traits kTraits{.name = "softplus", .ulps = 2.0};
  template <class T>
  static T exact(T x) {
    return choose(x > 0.0, x, T(0.0)) + log1p(exp(-fabs(x)));
  }
  template <class T>
  [[gnu::always_inline]] static T apply(T x) {
    const T positive = choose(x < 0.0F, T(0.0F), x);
    return positive + Log1p::apply(Exp::apply(-fabs(x)));
  }
  template <class V>
  static V gradient(V x, V /*y*/, V dy) {
    return dy * V::template of<Sigmoid>(x);
  }
};
inline constexpr const OpDef& kSoftplus = kOp<Softplus>;

}  // namespace meshwork::elementwise
