#pragma once

#include <cmath>

#include "backend/backend.h"
#include "backend/cpu/arithmetic.h"
#include "backend/cpu/types.h"

namespace meshwork::reference {

/// y = Function(x) in double precision, rounded once.
template <double (*Function)(double)>
Launch unary(const KernelArgs& args) {
  return [x = args.inputs[0], y = args.output] {
    const std::int64_t count = num_elements(y.type.shape);
    for (std::int64_t i = 0; i < count; ++i) {
      y.as<float>()[i] = static_cast<float>(Function(static_cast<double>(x.as<float>()[i])));
    }
  };
}

/// y = Op(x) in the type of x, whole numbers among them.
template <class Op>
Launch unary_number(const KernelArgs& args) {
  return [x = args.inputs[0], y = args.output] {
    cpu::with_number(y.type.dtype, [&](auto number) {
      using T = decltype(number);
      const std::int64_t count = num_elements(y.type.shape);
      for (std::int64_t i = 0; i < count; ++i) y.as<T>()[i] = Op::apply(x.as<T>()[i]);
    });
  };
}

inline double erf_of(double x) { return std::erf(x); }
inline double exp_of(double x) { return std::exp(x); }
inline double floor_of(double x) { return std::floor(x); }
inline double log1p_of(double x) { return std::log1p(x); }
inline double log_of(double x) { return std::log(x); }
inline double relu_of(double x) { return x < 0 ? 0 : x; }
inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus_of(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }
inline double sqrt_of(double x) { return std::sqrt(x); }
inline double tanh_of(double x) { return std::tanh(x); }

}  // namespace meshwork::reference
