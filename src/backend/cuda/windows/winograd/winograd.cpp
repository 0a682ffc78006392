// y = A^T [(G w G^T) (B^T x B)] A, tile by tile: the brackets are products of channels, a stack of
// 16. The gradient of x is the same of that of y, with the kernel turned round; that of the kernel
// is A^T [(B^T x B) (G y G^T)] A, whose products sum over tiles.
#include "backend/cuda/windows/winograd/winograd.h"

#include <algorithm>
#include <limits>

#include "backend/cuda/rounded_up.h"
#include "backend/cuda/windows/tiles.h"
#include "backend/cuda/windows/winograd/transforms.h"

namespace meshwork::cuda::windows {
namespace {

using products::MatrixStack;
using products::Product;

/// Channels from which on it pays: with fewer the products read more than they multiply.
constexpr std::int64_t kFewestChannels = 128;
constexpr std::int64_t kFewestTiles = 512;

/// Products that fill a GPU twice, and tiles of which a sum is worth its place in memory.
constexpr std::int64_t kBusyProducts = 264;
constexpr std::int64_t kProductTile = 128;
constexpr std::int64_t kShortestPart = 256;

constexpr std::int64_t kAlignment = 256;

/// The tiles of a result whose first one begins `margin` before the source.
ImageTiles tiles_of(std::int64_t images, std::array<std::int32_t, 2> result,
                    std::array<std::int32_t, 2> image, std::array<std::int32_t, 2> margin,
                    std::int64_t channels) {
  ImageTiles tiles{};
  tiles.height = image[0];
  tiles.width = image[1];
  tiles.channels = static_cast<std::int32_t>(channels);
  tiles.margin_y = margin[0];
  tiles.margin_x = margin[1];
  tiles.high = (result[0] + 1) / 2;
  tiles.wide = (result[1] + 1) / 2;
  tiles.count = tiles.filled_up = images * tiles.high * tiles.wide;
  return tiles;
}

/// What a task transforms and multiplies, and where that lies in scratch.
struct Steps {
  bool backward = false;
  ImageTiles source{}, other{};  ///< `other`: the result, or the gradient of y
  std::int64_t parts = 1;        ///< of a sum over tiles
  Product product{};
  std::int64_t bytes_of_products = 0;

  explicit Steps(const Task& task, std::byte* scratch = nullptr);

 private:
  std::byte* take(std::byte* scratch, std::int64_t floats);
  std::int64_t end_ = 0;

 public:
  std::int64_t workspace() const { return end_ + bytes_of_products; }
  std::byte* scratch_of_product(std::byte* scratch) const { return scratch + end_; }
};

std::byte* Steps::take(std::byte* scratch, std::int64_t floats) {
  std::byte* const place = scratch == nullptr ? nullptr : scratch + end_;
  end_ += rounded_up(floats * static_cast<std::int64_t>(sizeof(float)), kAlignment);
  return place;
}

Steps::Steps(const Task& task, std::byte* scratch) {
  const Convolution& c = task.c;
  const auto& [front, down, across] = c.slides;
  const std::array<std::int32_t, 2> x{down.x, across.x}, y{down.y, across.y};
  const std::array<std::int32_t, 2> before{down.padding, across.padding};
  backward = task.sought == Sought::kX;
  if (backward) {
    source = tiles_of(c.images, x, y, {2 - before[0], 2 - before[1]}, c.out);
    other = tiles_of(c.images, x, x, {0, 0}, c.in);
  } else {
    source = tiles_of(c.images, y, x, before, c.in);
    other = tiles_of(c.images, y, y, {0, 0}, c.out);
  }
  const std::int64_t in = c.in, out = c.out, weights = in * out;
  if (task.sought == Sought::kW) {
    const std::int64_t products =
        kPlanes * tiles_over(in, kProductTile) * tiles_over(out, kProductTile);
    parts = std::clamp<std::int64_t>(source.count / kShortestPart, 1,
                                     tiles_over(kBusyProducts, products));
    source.filled_up = other.filled_up = rounded_up(source.count, parts);
  }
  const std::int64_t of_source = source.filled_up * source.channels;
  const std::int64_t of_other = other.filled_up * other.channels;
  std::byte* const first = take(scratch, kPlanes * of_source);
  std::byte* const second = take(scratch, kPlanes * of_other);
  std::byte* const kernel = take(scratch, kPlanes * parts * weights);
  product.operands = product.result = DType::kFloat32;
  product.stack = kPlanes * parts;
  if (task.sought == Sought::kW) {
    product.m = in;
    product.n = out;
    product.k = source.filled_up / parts;
    product.x = {.data = first, .rows = 1, .columns = in, .stack = of_source / parts};
    product.w = {.data = second, .rows = out, .columns = 1, .stack = of_other / parts};
    product.y = {.data = kernel, .rows = out, .columns = 1, .stack = weights};
  } else {
    product.m = source.count;
    product.n = other.channels;
    product.k = source.channels;
    product.x = {.data = first, .rows = product.k, .columns = 1, .stack = of_source};
    product.w = {.data = kernel,
                 .rows = backward ? 1 : out,
                 .columns = backward ? out : 1,
                 .stack = weights};
    product.y = {.data = second, .rows = product.n, .columns = 1, .stack = of_other};
  }
  bytes_of_products = products::product_workspace(product.stack, product.m, product.n, product.k);
}

}  // namespace

bool is_for_winograd(const Task& task) {
  const Convolution& c = task.c;
  const auto& [front, down, across] = c.slides;
  const auto is_dense = [](const Slide& s) {
    return s.window == 3 && s.stride == 1 && s.dilation == 1 && s.padding >= 0 && s.padding <= 2;
  };
  const bool is_flat = front.x == 1 && front.y == 1 && front.window == 1 && front.padding == 0;
  for (const TensorView* const view : {&task.x, &task.w, &task.y}) {
    if (view->type.dtype != DType::kFloat32) return false;
  }
  if (!is_flat || c.groups > 1 || !is_dense(down) || !is_dense(across)) return false;
  if (c.in < kFewestChannels || c.out < kFewestChannels) return false;
  const std::int64_t tiles = c.images * tiles_over(std::max(down.x, down.y), 2) *
                             tiles_over(std::max(across.x, across.y), 2);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2 / kPlanes;
  return std::min(y_pixels(c.slides), x_pixels(c.slides)) > 0 && tiles >= kFewestTiles &&
         tiles * std::max(c.in, c.out) <= most && c.in * c.out <= most;
}

Product winograd_product(const Task& task) { return Steps(task).product; }

std::int64_t winograd_workspace(const Task& task) { return Steps(task).workspace(); }

Launch launch_winograd(CudaStream& stream, const Task& task, std::byte* workspace) {
  const Steps steps(task, workspace);
  const Product& p = steps.product;
  const std::int64_t weights = task.c.in * task.c.out;
  const Launch multiply = products::product_launch(stream, p, steps.scratch_of_product(workspace));
  Launch first, second, last;
  if (task.sought == Sought::kW) {
    first = transform_source(stream, steps.source, task.x.data, p.x.data);
    second = transform_gradient(stream, steps.other, task.y.data, p.w.data);
    last = transform_kernel_gradient(stream, weights, static_cast<std::int32_t>(steps.parts),
                                     p.y.data, task.w.data);
  } else {
    const TensorView& source = steps.backward ? task.y : task.x;
    const TensorView& result = steps.backward ? task.x : task.y;
    first = transform_source(stream, steps.source, source.data, p.x.data);
    second = transform_kernel(stream, weights, steps.backward, task.w.data, p.w.data);
    last = transform_result(stream, steps.other, p.y.data, result.data);
  }
  return [first, second, multiply, last] {
    first();
    second();
    multiply();
    last();
  };
}

}  // namespace meshwork::cuda::windows
