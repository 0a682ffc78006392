#include "emulated_gpu/cudnn_engines.h"

#include <algorithm>

#include "emulated_gpu/cudnn_attention.h"

namespace emulated_gpu::cudnn {
namespace {

cudnnDataType_t type_of(const Descriptor& tensor) {
  return tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

std::int64_t bytes_of(const Descriptor& tensor) {
  return elements(tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS)) *
         static_cast<std::int64_t>(size_of(type_of(tensor)));
}

/// Whether channels follow each other in memory, which all engines want: they know no other order
/// of a filter, whatever its strides say.
bool has_channels_last(const Descriptor& tensor) {
  const auto dims = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  return dims[1] == 1 || tensor.integers(CUDNN_ATTR_TENSOR_STRIDES)[1] == 1;
}

std::int64_t alignment(const Convolution& c) {
  std::int64_t least = 16;
  for (const Descriptor* const tensor : {c.x, c.w, c.y}) {
    least = std::min(least, tensor->one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  }
  return least;
}

std::vector<Engine> wide_engines(std::int64_t copies, bool tensor_cores) {
  std::vector<Engine> engines = {
      {25, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0},
      {5, {CUDNN_NUMERICAL_NOTE_FFT}, 0},
      {7, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, 0},
      {36, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, 0},
      {71, {}, 0, true},
      {72, {}, std::int64_t{1} << 40U},
      {70, {}, copies},
      {28, {}, 0},
      {0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, 0},
  };
  if (tensor_cores) {
    engines.insert(engines.begin(), {67, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 131});
  }
  return engines;
}

std::vector<Engine> narrow_engines() {
  return {
      {20,
       {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
       0},
      {21, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 0},
      {28, {}, 0},
      {61, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 0, true},
      {62, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 131},
  };
}

}  // namespace

std::vector<Engine> engines_for(const Descriptor& graph) {
  const Convolution c = convolution_of(graph);
  if (c.operation == nullptr) return attention_engines_for(graph);
  const bool by_x =
      c.operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const cudnnDataType_t operands = type_of(by_x ? *c.y : *c.x);
  const cudnnDataType_t others =
      c.operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
          ? type_of(*c.y)
          : type_of(*c.w);
  const bool copied = c.result != c.x && c.result != c.w && c.result != c.y;
  if (operands != others || (!copied && type_of(*c.result) != operands)) return {};
  if (!has_channels_last(*c.x) || !has_channels_last(*c.w) || !has_channels_last(*c.y)) return {};
  const bool aligned = alignment(c) == 16;
  if (operands == CUDNN_DATA_FLOAT) {
    if (copied) return {};
    return wide_engines(bytes_of(*c.x) + bytes_of(*c.w) + bytes_of(*c.y), aligned);
  }
  // Kernels that are compiled for a graph of two operations.
  if (copied) return {{7, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 0, false, true}};
  return aligned ? narrow_engines() : std::vector<Engine>{};
}

}  // namespace emulated_gpu::cudnn
