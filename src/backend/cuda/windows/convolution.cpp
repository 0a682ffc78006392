// With i = o * stride - padding + k * dilation, as far as x has it:
//
// convolution:               y[o, f] = sum over k, c of x[i, c] w[k, c, f]
// convolution_backward_data: x[i, c] = sum over o, k, f of y[o, f] w[k, c, f]
#include "backend/cuda/windows/convolution.h"

#include <algorithm>
#include <limits>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/by_products.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"
#include "backend/cuda/windows/kernels.h"
#include "backend/cuda/windows/tiles.h"
#include "backend/slide.h"

namespace meshwork::cuda::windows {
namespace {

/// Channels of a group from which on a tile of 32 columns is at least half full.
constexpr std::int64_t kSmallGroup = 16;

bool lies_densely(const Slide& s) { return s.dilation == 1 && s.stride <= 2 && s.window <= 8; }

std::int64_t workspace_of(const Task& task) {
  if (is_for_cudnn(task)) return cudnn_workspace(task);
  const ByProducts* const way = by_products(task);
  return way == nullptr ? 0 : way->workspace(task);
}

Launch slide(const KernelArgs& args, const Task& task, const Sliding& s) {
  if (is_for_cudnn(task)) {
    if (auto launch = launch_by_cudnn(stream_of(args), task, args.workspace)) return *launch;
  } else if (const ByProducts* const way = by_products(task)) {
    return way->launch(stream_of(args), task, args.workspace);
  }
  if (is_for_patches(task.sought, s.c)) return slide_by_patches(args, s);
  return has_small_groups(s.c) ? slide_directly(args, s) : slide_by_tiles(args, s);
}

}  // namespace

Convolution convolution_of(const Attrs& attrs, const TensorView& x, const TensorView& w,
                           const TensorView& y) {
  const Shape& kernel = w.type.shape;
  Convolution c;
  c.slides = slides_of(attrs, x, y, Shape(kernel.begin(), kernel.end() - 2));
  c.images = x.type.shape[0];
  c.groups = local_groups(x.type.shape, kernel);
  c.in = x.type.shape.back() / c.groups;  // 0 of no group
  c.out = kernel.back() / c.groups;
  return c;
}

Task task_of(Sought sought, const KernelArgs& args) {
  const TensorView &first = args.inputs[0], &second = args.inputs[1], &result = args.output;
  const TensorView& x = sought == Sought::kX ? result : first;
  const TensorView& w = sought == Sought::kW ? result : second;
  const TensorView& y = sought == Sought::kY ? result : sought == Sought::kX ? first : second;
  return {sought, convolution_of(args.attrs, x, w, y), x, w, y, allows_tensor_float32(args)};
}

Phases phases_of(const Sliding& s) {
  Phases phases;
  for (std::size_t d = 0; d < kSpatial; ++d) {
    const Slide& slide = s.c.slides[d];
    if (s.backward) phases.number *= std::min(slide.stride, slide.x);
    phases.extents[d] = s.backward ? tiles_over(slide.x, slide.stride) : slide.y;
  }
  return phases;
}

bool has_small_groups(const Convolution& c) {
  return c.groups > 1 && (c.in < kSmallGroup || c.out < kSmallGroup);
}

bool is_for_patches(Sought sought, const Convolution& c) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / kMostImages;
  constexpr std::int64_t kWide = 64;
  const auto& [front, height, width] = c.slides;
  const std::int64_t x = x_pixels(c.slides), y = y_pixels(c.slides), window = places(c.slides);
  if (!is_flat(c.slides) || c.groups > 1 || c.images == 0 || x * c.in == 0 || y * c.out == 0)
    return false;
  if (std::max({x * c.in, y * c.out, window * c.in * c.out}) > kMost) return false;
  if (window == 1 || !lies_densely(height) || !lies_densely(width)) return false;
  const bool skips = height.stride > 1 || width.stride > 1;
  return sought == Sought::kY || !skips || c.in < kWide || c.out < kWide;
}

Launch convolution(const KernelArgs& args) {
  const Task task = task_of(Sought::kY, args);
  return slide(args, task, {task.c, false, task.x, task.w, task.y});
}

std::int64_t convolution_workspace(const KernelArgs& args) {
  return workspace_of(task_of(Sought::kY, args));
}

Launch convolution_backward_data(const KernelArgs& args) {
  const Task task = task_of(Sought::kX, args);
  return slide(args, task, {task.c, true, task.y, task.w, task.x});
}

std::int64_t convolution_backward_data_workspace(const KernelArgs& args) {
  return workspace_of(task_of(Sought::kX, args));
}

}  // namespace meshwork::cuda::windows
