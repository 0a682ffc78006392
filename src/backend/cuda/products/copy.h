#pragma once

#include <vector>

#include "backend/copy_dim.h"
#include "base/dtype.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::products {

/// Copies elements between tensors of any strides, which do not overlap.
Launch copy_launch(CudaStream& stream, const std::vector<CopyDim>& dims, DType dtype,
                   const std::byte* from, std::byte* to);

}  // namespace meshwork::cuda::products
