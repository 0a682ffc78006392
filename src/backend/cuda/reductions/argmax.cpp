// y = the index of the greatest x along `axis`, counted over the whole tensor: the lowest among
// equals, the first NaN if there is one
#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
// A number and where it stands.
struct Candidate {
  float x;
  int32 place;
};

struct Better {
  DEVICE Candidate fold(const Candidate& a, const Candidate& b) {
    const bool equal = a.x == b.x || (a.x != a.x && b.x != b.x);
    const bool greater = a.x != a.x || a.x > b.x;
    return (equal ? a.place < b.place : greater) ? a : b;
  }
};

DEVICE Candidate from_lane(const Candidate& a, int32 distance) {
  return {from_lane(a.x, distance), from_lane(a.place, distance)};
}

// `first`: where lines begin in the whole tensor.
KERNEL(argmax, int32* y, const T* x, int32 first, Lines lines) {
  const Line line = line_of(lines);
  Candidate best{-MW_INFINITY, 0x7fffffff};
  for (int32 chunk = 0; chunk < line.chunks; ++chunk) {
    float e[E];
    load(e, x, line, chunk);
#pragma unroll
    for (int32 k = 0; k < E; ++k) {
      const int32 place = place_of(line, chunk, k);
      if (place < line.extent) best = Better::fold(best, {e[k], place});
    }
  }
  best = fold_team<Better>(line.team, best);
  if (line.team.lane != 0 || line.number >= lines.count) return;
  y[line.number] = first + (line.extent > 0 ? best.place : 0);
}
)cuda";

}  // namespace

Launch argmax(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const std::int64_t axis = args.attrs.integer("axis");
  const auto first = static_cast<std::int32_t>(x.region.offset[static_cast<std::size_t>(axis)]);
  return launch_lines(args, "argmax", kText, plan_lines(args, axis, {&x}), args.output.data, x.data,
                      first);
}

}  // namespace meshwork::cuda
