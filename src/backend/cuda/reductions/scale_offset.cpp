// y = x scale[c] + offset[c], c along `axis`
#include <algorithm>
#include <numeric>

#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/pack.h"
#include "base/rounded_up.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
// Each thread keeps to the channels of its first pack: the threads of all blocks are whole periods,
// of all channels. `run`: packs of one channel side by side; 0 where a pack has V channels.
KERNEL(scale_offset, T* y, const T* x, const float* scale, const float* offset, int64 packs,
       int64 period, int64 run) {
  int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const int64 within = i % period;
  const int64 channel = run > 0 ? within / run : within * V;
  const int64 apart = run > 0 ? 0 : 1;
  float factor[V], term[V];
  for (int32 k = 0; k < V; ++k) {
    factor[k] = scale[channel + k * apart];
    term[k] = offset[channel + k * apart];
  }
  const int64 step = (int64)gridDim.x * blockDim.x;
  for (; i < packs; i += step) {
    Pack<T, V> pack = load<V>(x + i * V);
    for (int32 k = 0; k < V; ++k) store(pack.at[k], computed(pack.at[k]) * factor[k] + term[k]);
    store(y + i * V, pack);
  }
}
)cuda";

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kBlocks = 2048;

/// Blocks whose threads are whole periods together, or as many as one pass takes.
Grid grid_for(std::int64_t packs, std::int64_t period) {
  const std::int64_t all = (packs + kThreads - 1) / kThreads;
  const std::int64_t unit = period / std::gcd(period, kThreads);
  return {std::min(all, rounded_up(kBlocks, unit)), static_cast<int>(kThreads)};
}

}  // namespace

Launch scale_offset(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const Shape& shape = x.type.shape;
  if (num_elements(shape) == 0) return [] {};
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const std::int64_t channels = shape[axis];
  const std::int64_t inner =
      num_elements(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
  const int pack = pack_width(inner == 1 ? channels : inner, {&x, &y});
  const std::int64_t packs = num_elements(shape) / pack;
  const std::int64_t period = channels * inner / pack;
  const std::int64_t run = inner == 1 ? 0 : inner / pack;
  const Source source{"scale_offset", std::string(kStoreText).append(kText),
                      define("T", x.type.dtype) + define("V", pack)};
  return kernel_launch(stream_of(args), source, source.name, grid_for(packs, period), y.data,
                       x.data, args.inputs[1].data, args.inputs[2].data, packs, period, run);
}

}  // namespace meshwork::cuda
