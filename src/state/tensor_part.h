#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/runs.h"
#include "base/shape.h"

namespace meshwork {

/// A tensor as all devices together hold it.
struct GlobalTensor {
  std::string path;
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// "float32[784, 200]".
std::string describe(DType dtype, const Shape& shape);

/// What one device holds of a global tensor: dense, row-major, in host memory.
struct TensorPart {
  std::size_t tensor = 0;  ///< index in the list of global tensors
  Window window;
  Shape shape;  ///< local
  const std::byte* data = nullptr;
  /// Of the replicas of a part one is the owner: every element has exactly one. Others are skipped.
  bool owner = true;
};

/// Throws CheckFailure unless the part lies inside its tensor.
void check_part(const GlobalTensor& tensor, const Window& window, const Shape& local);

/// Indices of the tensors in the order of their paths, which differ.
std::vector<std::size_t> in_path_order(const std::vector<GlobalTensor>& tensors);

}  // namespace meshwork
