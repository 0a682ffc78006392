// delta[b, t, g, r] = the sum of dy y over e
#include <string>
#include <utility>

#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/team.h"
#include "base/rounded_up.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kLanes = 32;  ///< of a line

constexpr std::string_view kText = R"cuda(
struct Plus {
  DEVICE float fold(float a, float b) { return a + b; }
};

KERNEL(attention_deltas, float* deltas, const T* dy, const T* y, int64 count, int32 e) {
  const Team team = neighbours(LANES);
  const int64 line = (int64)blockIdx.x * (blockDim.x / LANES) + team.slot;
  float sum = 0.0f;
  if (line < count) {
    for (int32 i = team.lane; i < e; i += LANES) {
      sum += to_float(dy[line * e + i]) * to_float(y[line * e + i]);
    }
  }
  sum = fold_neighbours<Plus>(team, sum);
  if (line < count && team.lane == 0) deltas[line] = sum;
}
)cuda";

TensorView deltas_of(const Request& request) {
  const Shape& dy = request.inputs[3].type.shape;
  return {{DType::kFloat32, Shape(dy.begin(), dy.end() - 1)}, {}, request.workspace};
}

}  // namespace

std::int64_t deltas_workspace(const Request& request) {
  if (!attention_options(request.attrs).with_result) return 0;
  return num_bytes(deltas_of(request).type);
}

Launch compute_deltas(Request& request) {
  if (!attention_options(request.attrs).with_result) return [] {};
  const TensorView deltas = deltas_of(request);
  const TensorView dy = request.inputs[3];
  const std::byte* const y = std::exchange(request.inputs[kAttentionDeltaOperand], deltas).data;
  request.attrs.set("with_result", false);
  const std::int64_t count = num_elements(deltas.type.shape);
  const Source source{"attention_deltas", std::string(kTeamText).append(kText),
                      define("T", dy.type.dtype) + define("LANES", kLanes)};
  return kernel_launch(*request.stream, source, source.name,
                       {ceil_divide(count, kThreads / kLanes), kThreads}, deltas.data, dy.data, y,
                       count, static_cast<std::int32_t>(dy.type.shape.back()));
}

}  // namespace meshwork::cuda::attention
