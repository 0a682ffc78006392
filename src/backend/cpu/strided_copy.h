#pragma once

#include <cstdint>
#include <vector>

#include "backend/copy_dim.h"
#include "base/dtype.h"

namespace meshwork::cpu {

/// Copies between tensors of any strides: a transposition, a slice, a broadcast. Dimensions are
/// merged, contiguous runs are moved whole and transpositions go through the cache tile by tile.
class StridedCopy {
 public:
  StridedCopy(std::vector<CopyDim> dims, DType dtype);

  /// The two do not overlap.
  void run(const std::byte* from, std::byte* to) const;

 private:
  template <class T>
  void run_typed(const T* from, T* to) const;

  DType dtype_;
  std::int64_t elements_ = 0;
  CopyDim rows_, columns_;
  std::vector<CopyDim> outer_;
  std::int64_t task_rows_ = 1;
  std::int64_t task_columns_ = 1;
};

}  // namespace meshwork::cpu
