// y = max(x - tau, 0) along `axis`, with tau such that y sums to 1 (Martins and Astudillo 2016).
// tau is found without sorting (Michelot 1986): of the elements above it, which are those above
// max x - 1 at first, tau = (their sum - 1) / their number, until their number stays. A line that
// holds NaN or infinity is NaN.
#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
// NaN if either is.
struct Greatest {
  DEVICE float fold(float a, float b) { return a != a || a > b ? a : b; }
};

// Elements above a threshold.
struct Tally {
  float sum;
  int32 count;
};

struct Add {
  DEVICE Tally fold(const Tally& a, const Tally& b) { return {a.sum + b.sum, a.count + b.count}; }
};

DEVICE Tally from_lane(const Tally& a, int32 distance) {
  return {from_lane(a.sum, distance), from_lane(a.count, distance)};
}

// The greatest element of a line; NaN if one is not finite.
DEVICE float max_of(Packs& packs, const T* x, const Line& line) {
  float max = -MW_INFINITY;
  for_each_chunk(packs, x, line, [&](int32 chunk, const float (&e)[E]) {
#pragma unroll
    for (int32 k = 0; k < E; ++k) {
      const bool is_finite = fabsf(e[k]) < MW_INFINITY;
      if (has(line, place_of(line, chunk, k))) {
        max = Greatest::fold(max, is_finite ? e[k] : MW_NAN);
      }
    }
  });
  return fold_team<Greatest>(line.team, max);
}

// Sums of x - max, of which no digits are lost: only those in (-1, 0] count.
DEVICE Tally tally_above(float tau, float max, Packs& packs, const T* x, const Line& line) {
  Tally tally{0, 0};
  for_each_chunk_back(packs, x, line, [&](int32 chunk, const float (&e)[E]) {
    Tally some{0, 0};
#pragma unroll
    for (int32 k = 0; k < E; ++k) {
      const float shifted = e[k] - max;
      if (shifted > tau) some = Add::fold(some, {shifted, 1});
    }
    tally = Add::fold(tally, some);
  });
  // The next walk begins with the last chunk again.
  if (line.chunks > 1) fetch(packs, x, line, line.chunks - 1);
  return fold_team<Add>(line.team, tally);
}

KERNEL(sparsemax, T* y, const T* x, Lines lines) {
  const Line line = line_of(lines);
  Packs packs;
  const float max = max_of(packs, x, line);
  float tau = max != max ? max : -1.0f;
  int32 count = 0x7fffffff;
  // Other lines of the block may take more rounds.
  for (bool settled = line.extent == 0 || max != max; __syncthreads_or(!settled);) {
    const Tally tally = tally_above(tau, max, packs, x, line);
    settled = settled || tally.count >= count;
    if (settled) continue;
    count = tally.count;
    tau = (tally.sum - 1.0f) / (float)count;
  }
  for_each_chunk_back(packs, x, line, [&](int32 chunk, float (&e)[E]) {
#pragma unroll
    for (int32 k = 0; k < E; ++k) {
      const float shifted = (e[k] - max) - tau;
      e[k] = shifted < 0.0f ? 0.0f : shifted;
    }
    save(e, y, line, chunk);
  });
}
)cuda";

}  // namespace

Launch sparsemax(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  if (num_elements(x.type.shape) == 0) return [] {};
  const LinePlan plan = plan_lines(args, args.attrs.integer("axis"), {&x, &y});
  return launch_lines(args, "sparsemax", kText, plan, y.data, x.data);
}

}  // namespace meshwork::cuda
