#pragma once

#include <cstdint>

#include "backend/cuda/windows/geometry.h"

namespace meshwork::cuda::windows {

/// What a device computes of a convolution between x [n, spatial.., groups * in], the kernel w
/// [window.., in, groups * out] and y [n, spatial.., groups * out].
struct Convolution {
  Slides slides;
  std::int64_t images = 0;
  std::int64_t groups = 1;
  std::int64_t in = 0;   ///< channels of a group
  std::int64_t out = 0;  ///< filters of a group

  std::int64_t channels() const { return groups * in; }
  std::int64_t filters() const { return groups * out; }
  /// Terms of a group's sums over a window.
  std::int64_t depth() const { return places(slides) * in; }
};

Convolution convolution_of(const Attrs& attrs, const TensorView& x, const TensorView& w,
                           const TensorView& y);

/// Whether groups are so small that tiles of products would stand empty.
bool has_small_groups(const Convolution& c);

/// Which of the three tensors of a convolution is computed from the other two.
enum class Sought { kY, kX, kW };

/// Images of a patch at most: what a block reads of them is counted in 32 bits.
inline constexpr std::int64_t kMostImages = 64;

/// Whether patches of images in shared memory are for it (patches/patch.h): windows of a few taps
/// that lie densely, in at most two dimensions, with strides of at most two. Of an H100, in
/// float32, on the layers of ResNets and of the convnet of the JAX guide: 1.1 to 6 times as fast as
/// tiles of products, but for gradients of 64 channels and more under strides of two, which tiles
/// compute.
bool is_for_patches(Sought sought, const Convolution& c);

/// One of the two results that are sums over a window, y or the gradient of x.
struct Sliding {
  Convolution c;
  bool backward = false;  ///< the gradient of x, from that of y
  TensorView source, w, result;

  std::int64_t inner() const { return backward ? c.out : c.in; }  ///< channels of a group's source
  std::int64_t outer() const { return backward ? c.in : c.out; }  ///< and of its result
};

/// The parts of a result that are read by the same taps: y, or of x every stride-th along each
/// dimension. How many, and the extents of the largest.
struct Phases {
  std::int64_t number = 1;
  std::array<std::int64_t, kSpatial> extents{};

  std::int64_t pixels() const { return extents[0] * extents[1] * extents[2]; }
};

Phases phases_of(const Sliding& s);

/// As products of tiles in shared memory; patch by patch (patches/patch.h); element by element.
Launch slide_by_tiles(const KernelArgs& args, const Sliding& s);
Launch slide_by_patches(const KernelArgs& args, const Sliding& s);
Launch slide_directly(const KernelArgs& args, const Sliding& s);

/// The gradient of the kernel over a part of the batch's positions each, to be added up: w
/// [parts, window.., in, filters] in float32, or the result itself where there is one part.
struct FilterParts {
  Convolution c;
  TensorView x, y;
  TensorView result;  ///< at its data stand the parts
  std::int64_t parts = 1;
  std::int64_t part = 0;  ///< positions of each, or patches, but for the last

  std::int64_t positions() const { return c.images * y_pixels(c.slides); }
};

Launch filter_by_tiles(const KernelArgs& args, const FilterParts& f);
Launch filter_by_patches(const KernelArgs& args, const FilterParts& f);
Launch filter_directly(const KernelArgs& args, const FilterParts& f);

/// Blocks that compute one part.
std::int64_t filter_tiles(const Convolution& c);
std::int64_t direct_filter_blocks(const Convolution& c);

}  // namespace meshwork::cuda::windows
