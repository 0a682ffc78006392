// y = A^T [(G w G^T) (B^T x B)] A, tile by tile: the brackets are products of channels, a stack of
// 16. The gradient of x is the same of that of y, with the kernel turned round; that of the kernel
// is A^T [(B^T x B) (G y G^T)] A, whose products sum over tiles.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "backend/cuda/windows/by_products.h"
#include "backend/cuda/windows/tiles.h"
#include "backend/cuda/windows/winograd/transforms.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::windows {
namespace {

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

/// Scratch, given out piece by piece; where there is none yet, bytes are counted alone.
struct Scratch {
  std::byte* begin = nullptr;
  std::int64_t end = 0;

  std::byte* here() const { return begin == nullptr ? nullptr : begin + end; }
  std::byte* take(std::int64_t floats) {
    std::byte* const place = here();
    end += rounded_up(floats * static_cast<std::int64_t>(sizeof(float)), kAlignment);
    return place;
  }
};

/// What a task transforms.
struct Images {
  bool is_backward = false;
  ImageTiles source{}, other{};  ///< `other`: the result, or the gradient of y
  std::int64_t parts = 1;        ///< of a sum over tiles
};

Images images_of(const Task& task) {
  const Convolution& c = task.c;
  const auto& [front, down, across] = c.slides;
  const std::array<std::int32_t, 2> x{down.x, across.x}, y{down.y, across.y};
  if (task.sought == Sought::kX) {
    return {true, tiles_of(c.images, x, y, {2 - down.padding, 2 - across.padding}, c.out),
            tiles_of(c.images, x, x, {0, 0}, c.in)};
  }
  Images images{false, tiles_of(c.images, y, x, {down.padding, across.padding}, c.in),
                tiles_of(c.images, y, y, {0, 0}, c.out)};
  if (task.sought == Sought::kY) return images;
  const std::int64_t products =
      kPlanes * tiles_over(c.in, kProductTile) * tiles_over(c.out, kProductTile);
  const std::int64_t count = images.source.count;
  images.parts =
      std::clamp<std::int64_t>(count / kShortestPart, 1, tiles_over(kBusyProducts, products));
  images.source.filled_up = images.other.filled_up = rounded_up(count, images.parts);
  return images;
}

/// [tiles, from] by [from, to] for each plane; of the gradient of a kernel [in, tiles] by
/// [tiles, out] for each part of it.
Product product_of(const Task& task, const Images& images, Scratch& scratch) {
  const std::int64_t in = task.c.in, out = task.c.out;
  const std::int64_t source = images.source.filled_up * images.source.channels;
  const std::int64_t other = images.other.filled_up * images.other.channels;
  Product p{};
  p.operands = p.result = DType::kFloat32;
  p.stack = kPlanes * images.parts;
  std::byte* const first = scratch.take(kPlanes * source);
  std::byte* const second = scratch.take(kPlanes * other);
  std::byte* const kernel = scratch.take(p.stack * in * out);
  if (task.sought == Sought::kW) {
    p.m = in;
    p.n = out;
    p.k = images.source.filled_up / images.parts;
    p.x = {.data = first, .rows = 1, .columns = in, .stack = source / images.parts};
    p.w = {.data = second, .rows = out, .columns = 1, .stack = other / images.parts};
    p.y = {.data = kernel, .rows = out, .columns = 1, .stack = in * out};
    return p;
  }
  p.m = images.source.count;
  p.n = images.other.channels;
  p.k = images.source.channels;
  p.x = {.data = first, .rows = p.k, .columns = 1, .stack = source};
  p.w = {.data = kernel, .rows = out, .columns = 1, .stack = in * out};
  if (images.is_backward) std::swap(p.w.rows, p.w.columns);
  p.y = {.data = second, .rows = p.n, .columns = 1, .stack = other};
  return p;
}

bool takes(const Task& task) {
  const Convolution& c = task.c;
  const auto& [front, down, across] = c.slides;
  const auto is_dense = [](const Slide& s) {
    return s.window == 3 && s.stride == 1 && s.dilation == 1 && s.padding >= 0 && s.padding <= 2;
  };
  for (const TensorView* const view : {&task.x, &task.w, &task.y}) {
    if (view->type.dtype != DType::kFloat32) return false;
  }
  if (!is_flat(c.slides) || c.groups > 1 || !is_dense(down) || !is_dense(across)) return false;
  if (c.in < kFewestChannels || c.out < kFewestChannels) return false;
  const std::int64_t tiles = c.images * tiles_over(std::max(down.x, down.y), 2) *
                             tiles_over(std::max(across.x, across.y), 2);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2 / kPlanes;
  return std::min(y_pixels(c.slides), x_pixels(c.slides)) > 0 && tiles >= kFewestTiles &&
         tiles * std::max(c.in, c.out) <= most && c.in * c.out <= most;
}

Product product_of(const Task& task) {
  Scratch none;
  return product_of(task, images_of(task), none);
}

std::int64_t workspace_of(const Task& task) {
  Scratch counted;
  const Product p = product_of(task, images_of(task), counted);
  return counted.end + products::product_workspace(p.stack, p.m, p.n, p.k);
}

Launch launch(CudaStream& stream, const Task& task, std::byte* workspace) {
  const Images images = images_of(task);
  Scratch scratch{workspace};
  const Product p = product_of(task, images, scratch);
  const std::int64_t weights = task.c.in * task.c.out;
  Launch first, second, last;
  if (task.sought == Sought::kW) {
    first = transform_source(stream, images.source, task.x.data, p.x.data);
    second = transform_gradient(stream, images.other, task.y.data, p.w.data);
    last = transform_kernel_gradient(stream, weights, static_cast<std::int32_t>(images.parts),
                                     p.y.data, task.w.data);
  } else {
    const TensorView& source = images.is_backward ? task.y : task.x;
    const TensorView& result = images.is_backward ? task.x : task.y;
    first = transform_source(stream, images.source, source.data, p.x.data);
    second = transform_kernel(stream, weights, images.is_backward, task.w.data, p.w.data);
    last = transform_result(stream, images.other, p.y.data, result.data);
  }
  return [first, second, last, multiply = products::product_launch(stream, p, scratch.here())] {
    first();
    second();
    multiply();
    last();
  };
}

}  // namespace

const ByProducts kWinograd{takes, product_of, workspace_of, launch};

}  // namespace meshwork::cuda::windows
