#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace meshwork {

/// One spatial dimension of a convolution or a pool between the local parts of an image x and a
/// result y: y[o] reads x[o * stride - padding + k * dilation], k < window, as far as x has it.
/// Local parts lie anywhere in the global tensors: the padding may be negative or wider than the
/// window, and either extent may be 0.
struct Slide {
  std::int64_t x = 0;  ///< extent
  std::int64_t y = 0;  ///< extent
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;

  std::int64_t first(std::int64_t o) const { return o * stride - padding; }
  bool has(std::int64_t i) const { return i >= 0 && i < x; }
};

/// The spatial dimensions of [n, spatial.., channels] images with the attributes `strides`,
/// `padding` and `dilations` (1 where there are none) of the global tensors; `window` holds the
/// extents of the kernel.
std::vector<Slide> slides_between(const Attrs& attrs, const TensorView& x, const TensorView& y,
                                  const Shape& window);

/// Groups that a device holds of a convolution whose image and kernel have these local shapes.
std::int64_t local_groups(const Shape& x, const Shape& w);

}  // namespace meshwork
