#pragma once

#include <cstdint>
#include <vector>

namespace meshwork {

/// A dimension of a copy between tensors; strides in elements.
struct CopyDim {
  std::int64_t extent = 1;
  std::int64_t from = 0;  ///< stride in what is read; 0 repeats
  std::int64_t to = 1;    ///< stride in what is written
};

/// The same copy without dimensions of one, in the order in which they are written, merged where
/// both sides agree.
std::vector<CopyDim> simplified(std::vector<CopyDim> dims);

}  // namespace meshwork
