#pragma once

#include "backend/cuda/products/product.h"
#include "backend/cuda/products/table.h"
#include "device/device.h"

namespace meshwork::cuda::products {

/// Measures the algorithms that heuristics name for one of launched_products(), on memory of its
/// own, and takes the fastest; of those that differ by no more than what measuring does, the one
/// that heuristics put first. Where its matrices lie does not count, but for their alignment.
/// Throws an Error where none computes it.
Tuned fastest_algorithm(Device& device, const Product& product);

}  // namespace meshwork::cuda::products
