#pragma once

#include <memory>
#include <string>
#include <vector>

#include "state/formats/format.h"

// Tensors of a file under the paths of a model, their dimensions rearranged, float32 whatever float
// the file has.
namespace meshwork {

/// A dimension of a stored tensor, or a block of it, as dimensions of a variable.
struct StoredDimension {
  struct Factor {
    static constexpr int kFixed = -1;

    std::int64_t extent = 1;
    int dimension = kFixed;  ///< of the variable
    std::int64_t index = 0;  ///< of kFixed, the one that is read
  };
  std::int64_t begin = 0;       ///< of the block
  std::vector<Factor> factors;  ///< their product is the block; the last is the fastest
};

/// Where a variable, or a slice of it, stands in a file. Its dimensions that are no factor have the
/// extent 1.
struct RenamedTensor {
  static constexpr std::int64_t kWhole = -1;

  GlobalTensor variable;  ///< float32
  std::string stored;     ///< the name of a tensor of float32, float16 or bfloat16
  std::vector<StoredDimension> dimensions;
  /// Which one along the variable's first dimension, whose other dimensions count from 0 then.
  std::int64_t slice = kWhole;
};

/// A view of `file` that has these variables for tensors; of those that are in slices all are
/// there.
class RenamedTensors : public TensorFile {
 public:
  RenamedTensors(std::unique_ptr<TensorFile> file, std::vector<RenamedTensor> tensors);

  /// Of the file it reads just the part's elements, at most 1 MiB at a time.
  void read(const StoredTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const override;

 private:
  void read_from(const RenamedTensor& renamed, const Region& region, const Shape& local,
                 float* to) const;

  std::unique_ptr<TensorFile> file_;
  std::vector<RenamedTensor> renamed_;  ///< in path order
};

}  // namespace meshwork
