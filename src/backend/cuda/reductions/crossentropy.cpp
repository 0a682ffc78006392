// crossentropy:          y[..] = log sum exp x - x[.., label[..]]
// crossentropy_gradient: dx[.., c] = d (1 where c = label[..], else 0, minus softmax x[.., c])
// 0 for a label that is no class
#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"
#include "backend/cuda/reductions/softmax.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kLoss = R"cuda(
KERNEL(crossentropy, float* y, const T* x, const int32* labels, Lines lines) {
  const Line line = line_of(lines);
  float e[E];
  const Moments moments = moments_of(e, x, line);
  if (line.team.lane != 0 || line.number >= lines.count) return;
  const int32 label = labels[line.number];
  const bool is_hit = label >= 0 && label < line.extent;
  y[line.number] = is_hit ? logf(moments.sum) - (x[line.begin + label] - moments.max) : 0.0f;
}
)cuda";

constexpr std::string_view kGradient = R"cuda(
// y may be x, and d where lines have one element.
KERNEL(crossentropy_gradient, T* y, const T* x, const int32* labels, const float* d, Lines lines) {
  const Line line = line_of(lines);
  const bool mine = line.number < lines.count;
  const int32 label = mine ? labels[line.number] : 0;
  const float factor = mine ? d[line.number] : 0.0f;
  float e[E];
  const Moments moments = moments_of(e, x, line);
  const bool is_hit = label >= 0 && label < line.extent;
  const float scale = 1.0f / moments.sum;
  for_each_chunk_back(e, x, line, [&](int32 chunk) {
#pragma unroll
    for (int32 k = 0; k < E; ++k) {
      const float target = place_of(line, chunk, k) == label ? 1.0f : 0.0f;
      const float share = expf(e[k] - moments.max) * scale;
      e[k] = factor * (is_hit ? target - share : 0.0f);
    }
    save(e, y, line, chunk);
  });
}
)cuda";

}  // namespace

Launch crossentropy(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &labels = args.inputs[1];
  const auto axis = static_cast<std::int64_t>(labels.type.shape.size());
  return launch_lines(args, "crossentropy", std::string(kMomentsText).append(kLoss),
                      plan_lines(args, axis, {&x}), args.output.data, x.data, labels.data);
}

Launch crossentropy_gradient(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &labels = args.inputs[1], &y = args.output;
  if (num_elements(y.type.shape) == 0) return [] {};
  const auto axis = static_cast<std::int64_t>(labels.type.shape.size());
  return launch_lines(args, "crossentropy_gradient", std::string(kMomentsText).append(kGradient),
                      plan_lines(args, axis, {&x, &y}), y.data, x.data, labels.data,
                      args.inputs[2].data);
}

}  // namespace meshwork::cuda
