#pragma once

#include "graph/graph.h"

namespace meshwork {

/// Which tensor of a sparse_einsum is which; 0 is x, 1 is w, 2 is y. With chosen [rows ..,
/// experts]:
struct SparseRoles {
  int rows;        ///< [rows .., a]
  int spread;      ///< [rows .., experts, b], or with the attribute `packed` [rows .., packed, b]
  int kernels;     ///< [experts, a, b], or
  bool is_turned;  ///< [experts, b, a]
};

/// By the attributes `equation` and `chosen`. Others than such tensors are a broken invariant.
SparseRoles sparse_roles(const Attrs& attrs);

}  // namespace meshwork
