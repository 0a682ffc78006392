#include "backend/cpu/chain_steps.h"

#include <algorithm>
#include <array>

#include "backend/cpu/arithmetic.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/vector_math.h"

namespace meshwork::cpu {
namespace {

struct Identity {
  [[gnu::always_inline]] static float apply(float x) { return x; }
};

struct ScaleOffset {
  [[gnu::always_inline]] static float apply(float x, float scale, float offset) {
    return x * scale + offset;
  }
};

template <class Op>
struct UnaryStep {
  [[gnu::always_inline]] static void run(const float* const* operands, unsigned repeats, float* y,
                                         std::int64_t count) {
    const float* x = operands[0];
    if (repeats != 0) {
      std::fill_n(y, count, Op::apply(*x));
      return;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = Op::apply(x[i]);
  }
};

template <class Op>
struct BinaryStep {
  [[gnu::always_inline]] static void run(const float* const* operands, unsigned repeats, float* y,
                                         std::int64_t count) {
    const float *a = operands[0], *b = operands[1];
    if (repeats == 0) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) y[i] = Op::apply(a[i], b[i]);
    } else if (repeats == 1) {
      const float value = *a;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) y[i] = Op::apply(value, b[i]);
    } else if (repeats == 2) {
      const float value = *b;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) y[i] = Op::apply(a[i], value);
    } else {
      std::fill_n(y, count, Op::apply(*a, *b));
    }
  }
};

template <class Op>
struct TernaryStep {
  [[gnu::always_inline]] static void run(const float* const* operands, unsigned repeats, float* y,
                                         std::int64_t count) {
    if ((repeats & 1U) != 0) {
      by_second<true>(operands, repeats, y, count);
    } else {
      by_second<false>(operands, repeats, y, count);
    }
  }

 private:
  template <bool A>
  [[gnu::always_inline]] static void by_second(const float* const* operands, unsigned repeats,
                                               float* y, std::int64_t count) {
    const bool b = (repeats & 2U) != 0, c = (repeats & 4U) != 0;
    if (b && c) return row<A, true, true>(operands, y, count);
    if (b) return row<A, true, false>(operands, y, count);
    if (c) return row<A, false, true>(operands, y, count);
    return row<A, false, false>(operands, y, count);
  }

  /// A, B, C: whether the operand is one value.
  template <bool A, bool B, bool C>
  [[gnu::always_inline]] static void row(const float* const* operands, float* y,
                                         std::int64_t count) {
    const float *a = operands[0], *b = operands[1], *c = operands[2];
    const float a_value = *a, b_value = *b, c_value = *c;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = Op::apply(A ? a_value : a[i], B ? b_value : b[i], C ? c_value : c[i]);
    }
  }
};

struct Named {
  std::string_view op;
  ChainStep step;
};

template <class Op>
Named unary(std::string_view op) {
  return {op, vectorized<UnaryStep<Op>>()};
}

template <class Op>
Named binary(std::string_view op) {
  return {op, vectorized<BinaryStep<Op>>()};
}

template <class Op>
Named ternary(std::string_view op) {
  return {op, vectorized<TernaryStep<Op>>()};
}

}  // namespace

ChainStep find_chain_step(std::string_view op) {
  static const std::array steps{
      unary<Abs>("abs"),
      binary<Add>("add"),
      unary<Identity>("broadcast_to"),
      binary<Divide>("divide"),
      binary<Equal>("equal"),
      unary<Erf>("erf"),
      unary<Exp>("exp"),
      unary<Floor>("floor"),
      binary<Greater>("greater"),
      binary<GreaterEqual>("greater_equal"),
      unary<Log>("log"),
      unary<Log1p>("log1p"),
      binary<Maximum>("maximum"),
      binary<Minimum>("minimum"),
      binary<Multiply>("multiply"),
      unary<Negate>("negate"),
      binary<Power>("power"),
      unary<Relu>("relu"),
      ternary<ScaleOffset>("scale_offset"),
      ternary<Select>("select"),
      unary<Sigmoid>("sigmoid"),
      unary<Sign>("sign"),
      unary<Softplus>("softplus"),
      unary<Sqrt>("sqrt"),
      unary<Square>("square"),
      binary<Subtract>("subtract"),
      unary<Tanh>("tanh"),
  };
  const auto* const found =
      std::find_if(steps.begin(), steps.end(), [&](const Named& named) { return named.op == op; });
  return found == steps.end() ? nullptr : found->step;
}

}  // namespace meshwork::cpu
