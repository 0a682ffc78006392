#pragma once

#include <span>

#include "backend/cuda/products/product.h"
#include "backend/cuda/products/table.h"
#include "device/device.h"

namespace meshwork::cuda::products {

/// The place of the least of these times; of those that differ from it by no more than measuring
/// does, the first.
std::size_t place_of_least(std::span<const double> microseconds);

/// Measures the algorithms that heuristics name for one of launched_products(), on memory of its
/// own, and takes the fastest: place_of_least(), in the order of heuristics. Where its matrices lie
/// does not count, but for their alignment. Throws an Error where none computes it.
Tuned fastest_algorithm(Device& device, const Product& product);

}  // namespace meshwork::cuda::products
