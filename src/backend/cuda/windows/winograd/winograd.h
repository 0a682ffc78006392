#pragma once

#include <cstdint>

#include "backend/cuda/products/product.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"

namespace meshwork::cuda::windows {

/// Whether a convolution of windows of 3 by 3, or a gradient of it, is computed by products of
/// transformed tiles (Winograd's F(2 x 2, 3 x 3); Lavin and Gray, "Fast Algorithms for
/// Convolutional Neural Networks", 2015): 16 multiplications for 4 results instead of 36. Of
/// float32, whose results keep within twice the rounding errors of sums; of so many channels that
/// products take far longer than to transform what they read and give.
bool is_for_winograd(const Task& task);

/// The products, a stack of one for each element of a tile; their data are null.
products::Product winograd_product(const Task& task);

/// Bytes of scratch for it.
std::int64_t winograd_workspace(const Task& task);

Launch launch_winograd(CudaStream& stream, const Task& task, std::byte* workspace);

}  // namespace meshwork::cuda::windows
