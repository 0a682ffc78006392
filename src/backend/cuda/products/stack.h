#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/cuda/products/product.h"

namespace meshwork::cuda::products {

/// Products that differ in places alone as one: a stack of them. Nothing where their matrices do
/// not stand at equal distances; which product comes first does not matter.
std::optional<Product> stack_of(std::vector<Product> products);

}  // namespace meshwork::cuda::products
