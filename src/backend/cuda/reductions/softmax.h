#pragma once

#include <string_view>

namespace meshwork::cuda {

/// Of kernels on lines (lines.h) that need the greatest x and the sum of exp(x - it).
inline constexpr std::string_view kMomentsText = R"cuda(
// The greatest x of some, and the sum of exp(x - max). The sum is NaN where x holds NaN or infinity,
// and of no use where all x are -infinity: max then makes the result NaN.
struct Moments {
  float max, sum;
};

DEVICE float shifted_exp(float x, float max) { return x == max ? 1.0f : expf(x - max); }

struct Join {
  DEVICE Moments fold(const Moments& a, const Moments& b) {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * shifted_exp(a.max, max) + b.sum * shifted_exp(b.max, max)};
  }
};

DEVICE Moments from_lane(const Moments& x, int32 distance) {
  return {from_lane(x.max, distance), from_lane(x.sum, distance)};
}

DEVICE Moments moments_of_chunk(const float (&e)[E]) {
  float max = e[0];
#pragma unroll
  for (int32 k = 1; k < E; ++k) max = fmaxf(max, e[k]);
  float sum = 0;
#pragma unroll
  for (int32 k = 0; k < E; ++k) sum += shifted_exp(e[k], max);
  return {max, sum};
}

// Of a whole line, to each of its threads, which hold its last chunk then.
DEVICE Moments moments_of(float (&e)[E], const T* x, const Line& line) {
  Moments moments{-MW_INFINITY, 0};
  for (int32 chunk = 0; chunk < line.chunks; ++chunk) {
    load(e, x, line, chunk);
    moments = Join::fold(moments, moments_of_chunk(e));
  }
  moments = fold_team<Join>(line.team, moments);
  if (moments.max == MW_INFINITY) moments.sum = MW_NAN;
  return moments;
}
)cuda";

}  // namespace meshwork::cuda
