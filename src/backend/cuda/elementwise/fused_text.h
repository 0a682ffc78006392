#pragma once

#include <string>

#include "backend/cuda/elementwise/fused_operands.h"

namespace meshwork::cuda {

/// CUDA C++ of a fusion group, behind these definitions: WIDTH, of vectors; PLACES, how many
/// pointers there are; RANK, of the nest, at least 1; INDEX, uint32 for fewer than 2^31 elements,
/// else uint64.
///
///     KERNEL(name, Places places, Sizes sizes, Dims dims)
std::string fused_text(const FusionGroup& group, const FusedOperands& operands,
                       const std::string& name);

}  // namespace meshwork::cuda
