#pragma once

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/geometry.h"

namespace meshwork::cuda::windows {

/// Between x and y; a pool with dilation is a broken invariant.
Slides pool_slides(const KernelArgs& args, const TensorView& x, const TensorView& y);

/// What y holds of each window of x: the sum; the greatest element; the place in the window, in
/// row-major order, of the first of the greatest, a number no place has where the window is empty.
enum class Pool { kSum, kMax, kPlace };

Launch launch_pool(const KernelArgs& args, const Slides& slides, const TensorView& x,
                   const TensorView& y, Pool pool);

/// Channels that a thread of a pool takes at once, at most: 16 bytes of them.
int pool_width(DType dtype);

}  // namespace meshwork::cuda::windows
