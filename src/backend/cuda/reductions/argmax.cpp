// y = the index of the greatest x along `axis`, counted over the whole tensor: the lowest among
// equals, the first NaN if there is one
#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"
#include "backend/cuda/reductions/softmax.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
// `first`: where lines begin in the whole tensor.
KERNEL(argmax, int32* y, const T* x, int32 first, Lines lines) {
  const Line line = line_of(lines);
  Candidate best = no_candidate();
  Packs packs;
  for_each_chunk(packs, x, line, [&](int32 chunk, const float (&e)[E]) {
    add_chunk(best, e, line, chunk);
  });
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
  return launch_lines(args, "argmax", std::string(kGreatestText).append(kText),
                      plan_lines(args, axis, {&x}), args.output.data, x.data, first);
}

}  // namespace meshwork::cuda
