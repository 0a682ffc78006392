#pragma once

#include "backend/cuda/products/product.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"

namespace meshwork::cuda::windows {

/// Whether a convolution is one product, of all pixels by channels and channels by filters: each
/// window is one pixel, and all pixels have one.
bool is_pointwise(const Task& task);

products::Product pointwise_product(const Task& task);

/// Bytes of scratch for it.
std::int64_t pointwise_workspace(const Task& task);

Launch launch_pointwise(CudaStream& stream, const Task& task, std::byte* workspace);

}  // namespace meshwork::cuda::windows
