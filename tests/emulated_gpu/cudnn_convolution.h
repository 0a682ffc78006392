#pragma once

#include <cstddef>

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// A convolution with its places in memory, which outlives its descriptions.
struct Work {
  struct Tensor {
    std::vector<std::int64_t> dims, strides;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::byte* data = nullptr;
  };
  enum class Sought { kY, kX, kW };

  Sought sought = Sought::kY;
  Tensor x, w, y;  ///< what is sought as it is in memory
  std::vector<std::int64_t> strides, dilations, padding;
  Engine engine;
  std::byte* workspace = nullptr;

  /// In float32, with the errors that the notes of the engine tell of; scratch is garbage
  /// afterwards.
  void compute() const;
};

}  // namespace emulated_gpu::cudnn
