// With i = o * stride - padding + k * dilation, as far as x has it:
//
// convolution_backward_filter: w[k, c, f] = sum over n, o of x[n, i, c] y[n, o, f]
//
// As a product: rows are the taps of a window times the channels of x, columns filters, summed are
// the positions of all images. These are so many that they are cut into parts, of numbers that
// shapes alone give; the parts' sums are added up in their order.
#include <algorithm>
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/by_products.h"
#include "backend/cuda/windows/convolution.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"
#include "backend/cuda/windows/kernels.h"
#include "backend/cuda/windows/patches/patch.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kAddText = R"cuda(
#define COLUMNS (256 / LANES)

// w[i] = sum of parts[.., i], each lane's in turn, then the lanes'.
KERNEL(add_filter_parts, R* w, const float* parts, int64 count, int32 number) {
  __shared__ float sums[LANES][COLUMNS];
  const int32 column = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;
  const int64 i = (int64)blockIdx.x * COLUMNS + column;
  float sum = 0;
  if (i < count) {
#pragma unroll 4
    for (int32 part = lane; part < number; part += LANES) sum += parts[part * count + i];
  }
  sums[lane][column] = sum;
  __syncthreads();
  if (lane > 0 || i >= count) return;
  for (int32 other = 1; other < LANES; ++other) sum += sums[other][column];
  w[i] = from_float<R>(sum);
}
)cuda";

/// Blocks that keep a GPU busy, and positions of a part that are worth its place in memory.
constexpr std::int64_t kBusyBlocks = 528;
constexpr std::int64_t kShortestPart = 256;
/// Parts from which on more threads add up a sum.
constexpr std::int64_t kManyParts = 64;

/// So many parts of `extent`, each but the last a multiple of `unit`.
void cut(FilterParts& f, std::int64_t extent, std::int64_t wanted, std::int64_t unit) {
  f.part = tiles_over(tiles_over(extent, std::max<std::int64_t>(wanted, 1)), unit) * unit;
  f.parts = std::max<std::int64_t>(f.part == 0 ? 0 : tiles_over(extent, f.part), 1);
}

/// What is computed, cut into parts.
FilterParts filter_parts(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.inputs[1], &w = args.output;
  FilterParts f{convolution_of(args.attrs, x, w, y), x, y, w, 1, 0};
  if (is_for_patches(Sought::kW, f.c)) {
    const FilterPatch patch = filter_patch_of(f.c);
    cut(f, patch.patches(f.c), patch.parts(f.c), 1);
    return f;
  }
  const std::int64_t blocks = has_small_groups(f.c) ? direct_filter_blocks(f.c) : filter_tiles(f.c);
  if (blocks == 0) return f;
  const std::int64_t longest = tiles_over(f.positions(), kShortestPart);
  cut(f, f.positions(), std::min(tiles_over(kBusyBlocks, blocks), longest), kDepth);
  return f;
}

TensorType type_of(const FilterParts& f) {
  Shape shape = f.result.type.shape;
  shape.insert(shape.begin(), f.parts);
  return {DType::kFloat32, shape};
}

Launch launch_parts(const KernelArgs& args, const FilterParts& f) {
  if (is_for_patches(Sought::kW, f.c)) return filter_by_patches(args, f);
  return has_small_groups(f.c) ? filter_directly(args, f) : filter_by_tiles(args, f);
}

}  // namespace

std::int64_t convolution_backward_filter_workspace(const KernelArgs& args) {
  const FilterParts f = filter_parts(args);
  const std::int64_t bytes = f.parts == 1 ? 0 : num_bytes(type_of(f));
  const Task task = task_of(Sought::kW, args);
  if (is_for_cudnn(task)) return std::max(bytes, cudnn_workspace(task));
  const ByProducts* const way = by_products(task);
  return way == nullptr ? bytes : way->workspace(task);
}

Launch convolution_backward_filter(const KernelArgs& args) {
  FilterParts f = filter_parts(args);
  if (const Task task = task_of(Sought::kW, args); is_for_cudnn(task)) {
    if (auto launch = launch_by_cudnn(stream_of(args), task, args.workspace)) return *launch;
  } else if (const ByProducts* const way = by_products(task)) {
    return way->launch(stream_of(args), task, args.workspace);
  }
  if (f.parts == 1) return launch_parts(args, f);
  f.result.type = type_of(f);
  f.result.data = args.workspace;
  const std::int64_t count = num_elements(args.output.type.shape);
  const Launch multiply = launch_parts(args, f);
  const std::int64_t lanes = f.parts < kManyParts ? 8 : 32;
  const Source source{"add_filter_parts", kAddText.data(),
                      define("R", args.output.type.dtype) + define("LANES", lanes)};
  const Launch add =
      kernel_launch(stream_of(args), source, "add_filter_parts",
                    grid_of_tiles(tiles_over(count, kThreads / lanes)), args.output.data,
                    args.workspace, count, static_cast<std::int32_t>(f.parts));
  return [multiply, add] {
    multiply();
    add();
  };
}

}  // namespace meshwork::cuda::windows
