#pragma once

#include <string>

#include "backend/cuda/elementwise/fused_rows.h"

namespace meshwork::cuda {

/// The source of the kernel `name`, which takes (Places places, Rows rows, Dims dims). WIDTH,
/// PLACES, RANK and Index are defined before it.
std::string fused_rows_text(const FusionGroup& group, const FusedRows& rows,
                            const std::string& name);

}  // namespace meshwork::cuda
