#pragma once

#include <cstdint>

#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

/// Whether a product of 16-bit operands is worth copying to matrices whose lines begin at 16 bytes:
/// of others, such as logits over 50257 tokens, cuBLASLt multiplies 2 numbers at a time. Decided by
/// extents, strides and dtypes; a product with an epilogue, or a stack, is left as it is.
bool pays_padding(const Product& product);

/// Bytes of scratch for the copies and for the product.
std::int64_t padded_workspace(const Product& product);

/// The product that cuBLASLt computes: there are zeros where the other one ends. Without scratch
/// its matrices lie nowhere.
Product padded_product(const Product& product, std::byte* workspace);

/// The copies, the padded product, and what of it is wanted.
Launch padded_launch(CudaStream& stream, const Product& product, std::byte* workspace);

}  // namespace meshwork::cuda::products
