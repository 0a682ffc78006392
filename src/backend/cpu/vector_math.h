#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Functions of one float without branches, so that loops over them vectorize. Polynomials are
/// least-squares fits (reweighted towards the minimax one, then rounded coefficient by coefficient
/// to float) to the functions named beside them. Errors in ulp
/// are the greatest seen over a sample of all floats (tests/backend/vector_math_test.cpp). Nothing
/// is fused: every instruction set gives the same bits.
namespace meshwork::cpu {

/// e^x, 1.0 ulp. x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 P(r).
struct Exp {
  [[gnu::always_inline]] static float apply(float x) {
    // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
    constexpr float kRound = 12582912.0F;
    float bounded = x < -104.0F ? -104.0F : x;  // 0 below, infinity above; NaN stays
    bounded = bounded > 89.0F ? 89.0F : bounded;
    const float rounded = bounded * 1.44269504F + kRound;
    const float n = rounded - kRound;
    const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;  // ln 2 in two parts
    float p = 0.000194284876F;
    p = p * r + 0.0013936928F;
    p = p * r + 0.00833419245F;
    p = p * r + 0.0416664444F;
    p = p * r + 0.166666627F;
    p = p * r + 0.5F;
    const float y = (p * (r * r) + r) + 1.0F;
    // 2^n as the product of two, so that neither leaves the range of normal numbers.
    const auto whole = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRound);
    const std::int32_t half = whole >> 1;
    return (y * power_of_two(half)) * power_of_two(whole - half);
  }

 private:
  [[gnu::always_inline]] static float power_of_two(std::int32_t n) {
    return std::bit_cast<float>((static_cast<std::uint32_t>(n) + 127U) << 23U);
  }
};

/// ln x, 0.8 ulp. x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); ln(1 + f) = f - f^2/2 + f^3
/// P(f).
struct Log {
  [[gnu::always_inline]] static float apply(float x) {
    const bool tiny = x < std::numeric_limits<float>::min();
    const float normal = tiny ? x * 8388608.0F : x;  // 2^23
    const auto bits = std::bit_cast<std::uint32_t>(normal);
    const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3f3504f3U) >> 23;
    const float f =
        std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23U)) - 1.0F;
    const float e = static_cast<float>(exponent) - (tiny ? 23.0F : 0.0F);
    float p = 0.0673301071F;
    p = p * f + -0.116606608F;
    p = p * f + 0.11886204F;
    p = p * f + -0.124081969F;
    p = p * f + 0.142202333F;
    p = p * f + -0.166678548F;
    p = p * f + 0.20002073F;
    p = p * f + -0.250000119F;
    p = p * f + 0.333333135F;
    const float square = f * f;
    const float tail = ((p * f) * square + e * -2.12194440e-4F) - 0.5F * square;
    float y = (f + tail) + e * 0.693359375F;
    y = x == 0.0F ? -std::numeric_limits<float>::infinity() : y;
    y = x < 0.0F ? std::numeric_limits<float>::quiet_NaN() : y;
    return x < std::numeric_limits<float>::infinity() ? y : x;  // NaN and infinity as they are
  }
};

/// ln(1 + x), 1.5 ulp: the rounding error of 1 + x is known and made good.
struct Log1p {
  [[gnu::always_inline]] static float apply(float x) {
    const float u = 1.0F + x;
    const float lost = x > 1.0F ? 1.0F - (u - x) : x - (u - 1.0F);
    const float log = Log::apply(u);
    // At -1 and infinity the correction is no number.
    const bool regular = (u > 0.0F) & (u < std::numeric_limits<float>::infinity());
    return regular ? log + lost / u : log;
  }
};

/// tanh x, 1.3 ulp. |x| < 0.625: x + x^3 P(x^2); beyond: 1 - 2 / (e^2|x| + 1).
struct Tanh {
  [[gnu::always_inline]] static float apply(float x) {
    const float a = std::fabs(x);
    const float z = x * x;
    float p = 0.0021571843F;
    p = p * z + -0.00819467846F;
    p = p * z + 0.02170863F;
    p = p * z + -0.0539484508F;
    p = p * z + 0.133332223F;
    p = p * z + -0.333333313F;
    const float small = x + (x * z) * p;
    const float large = std::copysign(1.0F - 2.0F / (Exp::apply(a + a) + 1.0F), x);
    return a < 0.625F ? small : large;
  }
};

/// erf x, 1.1 ulp. |x| < 1: x + x P(x^2); beyond: 1 - e^-(t + Q(t)) with t = |x|.
struct Erf {
  [[gnu::always_inline]] static float apply(float x) {
    const float a = std::fabs(x);
    const float z = x * x;
    float p = 7.8461082e-05F;
    p = p * z + -0.00080078782F;
    p = p * z + 0.00518807396F;
    p = p * z + -0.0268536918F;
    p = p * z + 0.112835832F;
    p = p * z + -0.37612626F;
    p = p * z + 0.128379166F;
    const float small = x + x * p;
    const float t = a > 4.0F ? 4.0F : a;  // 1 from there on
    float q = 2.16966728e-05F;
    q = q * t + -0.000441465469F;
    q = q * t + 0.00420526508F;
    q = q * t + -0.0252103191F;
    q = q * t + 0.108422101F;
    q = q * t + 0.633216381F;
    q = q * t + 0.129580319F;
    q = q * t + -0.000188467704F;
    const float large = std::copysign(1.0F - Exp::apply(-(t + q)), x);
    return a < 1.0F ? small : large;
  }
};

/// 1 / (1 + e^-x), 2.2 ulp, without overflow on either side.
struct Sigmoid {
  [[gnu::always_inline]] static float apply(float x) {
    const float e = Exp::apply(-std::fabs(x));
    return (x < 0.0F ? e : 1.0F) / (1.0F + e);
  }
};

/// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), 1.8 ulp.
struct Softplus {
  [[gnu::always_inline]] static float apply(float x) {
    const float positive = x < 0.0F ? 0.0F : x;
    return positive + Log1p::apply(Exp::apply(-std::fabs(x)));
  }
};

struct Floor {
  [[gnu::always_inline]] static float apply(float x) { return std::floor(x); }
};

struct Relu {
  [[gnu::always_inline]] static float apply(float x) { return x < 0.0F ? 0.0F : x; }
};

struct Sqrt {
  [[gnu::always_inline]] static float apply(float x) { return std::sqrt(x); }
};

}  // namespace meshwork::cpu
