#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/elementwise/broadcast.h"
#include "backend/pass_shape.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// An input of a group that adds up rows or columns, as one or more members read it.
struct RowOperand {
  std::size_t input;
  Shape shape;  ///< as it is broadcast to the elements, or to the rows
  TensorView view;
  bool moves_along = false;  ///< within a row
  std::size_t pattern = 0;   ///< number of its moves from row to row in the nest
};

/// What the kernel of a group that adds up rows or columns reads and writes, and how its work is
/// shared out.
struct FusedRows {
  explicit FusedRows(const FusionGroup& group);

  PassShape shape;
  std::vector<RowOperand> inputs;        ///< each once for each way to broadcast it
  std::vector<TensorView> results;       ///< of members that others read, but for sums of columns
  std::vector<std::size_t> column_sums;  ///< members
  Nest nest;                             ///< of rows
  std::int64_t width;  ///< elements that a thread takes at a time: rows are whole vectors of them
  std::int32_t lanes, threads;  ///< of a row, and of a block
  std::int64_t rows_of_team;    ///< that so many lanes go over, one after the other
  std::int64_t blocks;

  bool is_of_rows(const TensorView& view) const { return shape.is_of_rows(view.type.shape); }
};

/// A fusion group with sums of its rows or columns, which are not empty, as one kernel: a row is
/// the work of some lanes, of a warp or of a block. They go over it once for the sums that need no
/// other, once for those that need these, and so on, and once for all results, which are stored
/// then: what is read again comes from the cache. Its source depends on formulas, dtypes and the
/// length of rows, which tells how much each lane can load ahead; other extents are parameters,
/// but for how many rows a lane goes over where columns are added up. Each block leaves its sums of
/// columns in the workspace, [blocks, columns] for each of them, where they are added up in turn.
Launch bind_rows(const FusionGroup& group, CudaStream& stream);
std::int64_t rows_workspace(const FusionGroup& group);

}  // namespace meshwork::cuda
