#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

Launch einsum(const KernelArgs& args);
std::int64_t einsum_workspace(const KernelArgs& args);
/// The products that it leaves to cuBLASLt, of the GPU whose stream the arguments have.
std::vector<Product> einsum_products(const KernelArgs& args);

}  // namespace meshwork::cuda::products
