#include "backend/cuda/kernels.h"

#include <array>

#include "backend/cuda/products/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> product_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"einsum", products::einsum, products::einsum_workspace},
      {"einsum_bias", products::einsum, products::einsum_workspace},
  });
  return list;
}

}  // namespace meshwork::cuda
