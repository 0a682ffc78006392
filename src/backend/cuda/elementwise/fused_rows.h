#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/elementwise/broadcast.h"
#include "backend/pass_shape.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// An input of a group that adds up rows, as one or more members read it.
struct RowOperand {
  std::size_t input;
  Shape shape;  ///< as it is broadcast to the elements, or to the rows
  TensorView view;
  bool moves_along = false;  ///< within a row
  std::size_t pattern = 0;   ///< number of its moves from row to row in the nest
};

/// What the kernel of a group that adds up rows reads and writes.
struct FusedRows {
  explicit FusedRows(const FusionGroup& group);

  PassShape shape;
  std::vector<RowOperand> inputs;   ///< each once for each way to broadcast it
  std::vector<TensorView> results;  ///< of members that others read
  Nest nest;                        ///< of rows
  std::int64_t width;  ///< elements that a thread takes at a time: rows are whole vectors of them

  bool is_of_rows(const TensorView& view) const { return shape.is_of_rows(view.type.shape); }
};

/// A fusion group with sums of its rows, and not empty, as one kernel: a row is the work of some
/// lanes, of a warp or of a block. They go over it once for the sums that need no other, once for
/// those that need these, and so on, and once for all results, which are stored then: what is read
/// again comes from the cache. Its source depends on formulas, dtypes and the length of rows, which
/// tells how much each lane can load ahead; other extents are parameters.
Launch bind_rows(const FusionGroup& group, CudaStream& stream);

}  // namespace meshwork::cuda
