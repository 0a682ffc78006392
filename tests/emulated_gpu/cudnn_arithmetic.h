#pragma once

#include "emulated_gpu/cudnn_operations.h"

namespace emulated_gpu::cudnn {

/// A tensor and its numbers, each where the strides say.
struct Operand {
  const Tensor& tensor;
  const std::vector<float>& numbers;
};

/// How tensor cores take what they multiply.
struct Precision {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  unsigned mantissa = 23;  ///< bits
};

/// The numbers of the result, rounded to its type.
std::vector<float> apply(const Operation& operation, const std::vector<Operand>& from,
                         const Tensor& to, const Precision& precision);

}  // namespace emulated_gpu::cudnn
