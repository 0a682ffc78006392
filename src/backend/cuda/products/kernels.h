#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

Launch einsum(const KernelArgs& args);
std::int64_t einsum_workspace(const KernelArgs& args);
/// The products that it leaves to cuBLASLt, of the GPU whose stream the arguments have.
std::vector<Product> einsum_products(const KernelArgs& args);
/// The one product that is all that it computes; nothing if it takes more, or something else.
std::optional<Product> sole_product(const KernelArgs& args);

Launch sparse_einsum(const KernelArgs& args);
std::int64_t sparse_einsum_workspace(const KernelArgs& args);
std::vector<Product> sparse_einsum_products(const KernelArgs& args);

/// Nodes of one form as a stack; nothing where they are not sole products at equal distances, or
/// cuBLASLt has no algorithm for it.
std::optional<Product> stack_product(std::span<const KernelArgs> nodes);
/// They are computed as such, or in turn where they are none, or where that was measured to be
/// faster. They share the scratch of the first one.
Launch einsum_stack(std::span<const KernelArgs> nodes);
/// Bytes of scratch for a stack of so many of one form.
std::int64_t stack_workspace(const KernelArgs& args, std::int64_t stack);

}  // namespace meshwork::cuda::products
