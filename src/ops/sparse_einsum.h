#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace meshwork::ops {

/// The type of a product of rows with the experts that they chose, of which the tensor of blocks
/// (SparseRoles::spread) has so many for each row.
TensorType infer_sparse_einsum(const OpArgs& args, std::int64_t blocks);

/// Of `of_row` experts for each row.
double sparse_einsum_flops(const OpArgs& args);

}  // namespace meshwork::ops
