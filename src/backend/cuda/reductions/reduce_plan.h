#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// Dimensions that an index counts over, the innermost first; strides in elements.
struct ReduceDims {
  static constexpr int kMost = 6;
  std::int64_t extent[kMost];
  std::int64_t stride[kMost];
  std::int32_t count;
};

/// A sum (or the like) over some axes of a dense tensor, seen as rows of columns: packs of elements
/// that lie side by side. Columns are kept, then a result is a pack of sums, or they are reduced
/// with the rows. Of many rows and few results, each result is folded in parts, whose results are
/// folded in turn. The kernels have the same struct.
struct ReducePlan {
  ReduceDims kept, reduced;   ///< those besides the columns
  std::int64_t results;       ///< packs, where columns are kept
  std::int64_t columns;       ///< packs in a row
  std::int64_t rows;          ///< of one result
  std::int64_t parts, part;   ///< how many, and of how many rows each
  std::int32_t lanes, width;  ///< threads of a result, and results (or packs) beside each other
};

/// How one op runs: with which kernel, and for whom.
struct Reduction {
  ReducePlan plan{};
  bool keeps_columns = false;
  int pack = 1;           ///< elements
  Grid grid;              ///< no blocks where nothing is kept
  std::string_view name;  ///< of the kernel: "fold_columns" or "fold_lines"
};

/// In how many parts each result is folded, by the shape alone.
std::int64_t reduction_parts(const Shape& shape, const std::vector<std::int64_t>& axes,
                             DType dtype);

/// Over `axes` of a dense tensor, read in packs of `pack` elements, in `most_parts` at most.
Reduction plan_reduction(const Shape& shape, const std::vector<std::int64_t>& axes, int pack,
                         std::int64_t most_parts);

/// Elements that lie side by side, reduced or kept: what packs divide.
std::int64_t reduction_columns(const Shape& shape, const std::vector<std::int64_t>& axes);

}  // namespace meshwork::cuda
