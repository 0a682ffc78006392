#pragma once

#include <cstdint>

#include "backend/cpu/lanes.h"
#include "elementwise/comparison.h"
#include "elementwise/exponential.h"

/// What softmax and its kin do with lines of contiguous elements.
namespace meshwork::cpu {

/// Elements that stay in the first cache from the maximum to the last division.
constexpr std::int64_t kCached = 4096;

/// y = x - max x; y may be x.
template <class X>
[[gnu::always_inline]] inline void subtract_max(const X* x, float* y, std::int64_t extent) {
  const float max = fold_lanes<elementwise::Maximum>(x, extent);
#pragma omp simd
  for (std::int64_t i = 0; i < extent; ++i) y[i] = computed(x[i]) - max;
}

[[gnu::always_inline]] inline void exponentiate(const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = elementwise::Exp::apply(x[i]);
}

}  // namespace meshwork::cpu
