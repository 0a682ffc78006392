#pragma once

#include <functional>

#include "backend/cuda/products/cublaslt.h"
#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

/// Enqueues a product, and gives what cuBLASLt says to that.
using Trial = std::function<cublasStatus_t()>;

/// One of launched_products() by an algorithm that is yet to be found good or bad.
Trial product_trial(CudaStream& stream, const Product& product, std::byte* workspace,
                    const cublasLtMatmulAlgo_t& algorithm);

}  // namespace meshwork::cuda::products
