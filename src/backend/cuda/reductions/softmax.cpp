// softmax:     y = exp(x - max x) / sum exp(x - max x) along `axis`
// log_softmax: y = x - max x - log sum exp(x - max x)
#include "backend/cuda/reductions/softmax.h"

#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kSoftmax = R"cuda(
// y may be x.
KERNEL(softmax, T* y, const T* x, Lines lines) {
  const Line line = line_of(lines);
  Packs packs;
  const Moments moments = moments_of(packs, x, line);
  const float scale = 1.0f / moments.sum;
  for_each_chunk_back(packs, x, line, [&](int32 chunk, float (&e)[E]) {
#pragma unroll
    for (int32 k = 0; k < E; ++k) e[k] = shifted_exp(e[k], moments.max) * scale;
    save(e, y, line, chunk);
  });
}
)cuda";

constexpr std::string_view kLogSoftmax = R"cuda(
// y may be x.
KERNEL(log_softmax, T* y, const T* x, Lines lines) {
  const Line line = line_of(lines);
  Packs packs;
  const Moments moments = moments_of(packs, x, line);
  const float log = logf(moments.sum);
  for_each_chunk_back(packs, x, line, [&](int32 chunk, float (&e)[E]) {
#pragma unroll
    for (int32 k = 0; k < E; ++k) e[k] = (e[k] - moments.max) - log;
    save(e, y, line, chunk);
  });
}
)cuda";

Launch normalize(const KernelArgs& args, const std::string& name, std::string_view text) {
  const TensorView &x = args.inputs[0], &y = args.output;
  if (num_elements(x.type.shape) == 0) return [] {};
  const LinePlan plan = plan_lines(args, args.attrs.integer("axis"), {&x, &y});
  return launch_lines(args, name, std::string(kMomentsText).append(text), plan, y.data, x.data);
}

}  // namespace

Launch softmax(const KernelArgs& args) { return normalize(args, "softmax", kSoftmax); }

Launch log_softmax(const KernelArgs& args) { return normalize(args, "log_softmax", kLogSoftmax); }

}  // namespace meshwork::cuda
