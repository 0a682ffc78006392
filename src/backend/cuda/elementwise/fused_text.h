#pragma once

#include <string>

#include "backend/cuda/elementwise/fused_operands.h"

namespace meshwork::cuda {

/// CUDA C++ of fusion groups that differ in extents and places alone, behind these definitions:
/// WIDTH, of vectors; PLACES, how many pointers there are; NUMBERS, that the group takes in, at
/// least 1; RANK, of the nest, at least 1; Index, uint32 for fewer than 2^31 elements, else uint64;
/// PASSES, how many groups there are, a power of two.
///
///     KERNEL(name, const __grid_constant__ Passes passes)
std::string fused_text(const FusionGroup& group, const FusedOperands& operands,
                       const std::string& name);

}  // namespace meshwork::cuda
