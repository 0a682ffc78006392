#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Gives `bytes` of a part from byte `begin` on in host memory, until it is called again.
using ReadPart = std::function<const std::byte*(std::int64_t begin, std::int64_t bytes)>;

/// What one device holds of a global tensor: dense, row-major.
struct TensorPart {
  std::size_t tensor = 0;  ///< index in the list of global tensors
  Region region;
  Shape shape;  ///< local
  ReadPart read;
  /// Of the replicas of a part one is the owner: every element has exactly one. Others are skipped.
  bool owner = true;
};

/// Elements of a part that lie side by side in the global tensor too: `count` from `global` on.
using UseElements =
    std::function<void(std::int64_t global, const std::byte* elements, std::int64_t count)>;

/// Reads all elements of a part, in its order, at most 1 MiB at a time.
void read_part(const GlobalTensor& tensor, const TensorPart& part, const UseElements& use);

/// Throws CheckFailure unless the part lies inside its tensor.
void check_part(const GlobalTensor& tensor, const Region& region, const Shape& local);

/// Indices of the tensors in the order of their paths, which differ.
std::vector<std::size_t> in_path_order(const std::vector<GlobalTensor>& tensors);

}  // namespace meshwork
