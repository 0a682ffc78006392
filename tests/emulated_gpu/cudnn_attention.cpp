#include "emulated_gpu/cudnn_attention.h"

#include <algorithm>

#include "emulated_gpu/cudnn_operations.h"

namespace emulated_gpu::cudnn {
namespace {

using Kind = Operation::Kind;

constexpr std::int64_t kLanes = 8;  ///< elements that are read at once
constexpr std::int64_t kMostChannels = 128;
constexpr std::int64_t kAlignment = 16;

bool is_in_memory(const Tensor& tensor) { return !tensor.is_virtual && !tensor.is_by_value; }
bool is_narrow(const Tensor& tensor) { return size_of(tensor.type) == 2; }

/// Whether the channels of a head are the dim before the last: of what is multiplied from the
/// right, to make scores.
bool is_transposed(const OperationsWork& work, std::size_t tensor) {
  return std::any_of(work.operations.begin(), work.operations.end(), [&](const Operation& step) {
    return step.kind == Kind::kProduct && step.from[1] == tensor &&
           is_in_memory(work.all[step.from[0]]);
  });
}

bool takes_operand(const Tensor& tensor, bool transposed) {
  const std::size_t channels = transposed ? 2 : 3;
  for (std::size_t d = 0; d < 4; ++d) {
    if (d == channels ? tensor.strides[d] != 1 : tensor.strides[d] % kLanes != 0) return false;
  }
  return tensor.dims[channels] % kLanes == 0 && tensor.dims[channels] <= kMostChannels &&
         tensor.alignment % kAlignment == 0;
}

/// A number of each line of scores. Others cuDNN before 9.26 takes, and computes wrong numbers.
bool takes_statistics(const Tensor& tensor) {
  const std::vector<std::int64_t> packed{tensor.dims[1] * tensor.dims[2], tensor.dims[2], 1, 1};
  return tensor.type == CUDNN_DATA_FLOAT && tensor.dims[3] == 1 && tensor.strides == packed;
}

bool takes(const OperationsWork& work) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  for (std::size_t i = 0; i < work.all.size(); ++i) {
    const Tensor& tensor = work.all[i];
    if (tensor.dims.size() != 4) return false;
    if (tensor.is_by_value && tensor.type != CUDNN_DATA_FLOAT) return false;
    if (!is_in_memory(tensor)) continue;
    if (!is_narrow(tensor)) {
      if (!takes_statistics(tensor)) return false;
      continue;
    }
    if (type != CUDNN_DATA_FLOAT && tensor.type != type) return false;
    if (!takes_operand(tensor, is_transposed(work, i))) return false;
    type = tensor.type;
  }
  return type != CUDNN_DATA_FLOAT;
}

bool has_step(const OperationsWork& work, Kind kind, std::int64_t mode) {
  return std::any_of(work.operations.begin(), work.operations.end(),
                     [&](const Operation& step) { return step.kind == kind && step.mode == mode; });
}

/// Kernels know a softmax by all of its steps, the logarithm of its sums among them, whether or not
/// it goes to memory.
bool has_whole_softmax(const OperationsWork& work) {
  return !has_step(work, Kind::kReduction, CUDNN_REDUCE_TENSOR_MAX) ||
         has_step(work, Kind::kPointwise, CUDNN_POINTWISE_LOG);
}

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// Bytes: of gradients, which transpose scores, sums of the query's in 16 bits, and of each line a
/// number.
std::int64_t workspace_of(const OperationsWork& work, const Operation& product) {
  constexpr std::int64_t kLeast = 256;
  if (!has_step(work, Kind::kReshape, 0)) return kLeast;
  const std::vector<std::int64_t>& scores = work.all[product.to].dims;
  const std::int64_t heads = scores[0] * scores[1];
  return heads * round_up(scores[2], 64) * round_up(scores[3], 128) * 2 +
         round_up(heads * scores[2] * 4, 128) + kLeast;
}

}  // namespace

std::vector<Engine> attention_engines_for(const Descriptor& graph) {
  const auto work = OperationsWork::of(graph);
  if (work == nullptr || !takes(*work) || !has_whole_softmax(*work)) return {};
  const auto product =
      std::find_if(work->operations.begin(), work->operations.end(),
                   [](const Operation& step) { return step.kind == Kind::kProduct; });
  if (product == work->operations.end()) return {};
  const std::int64_t bytes = workspace_of(*work, *product);
  constexpr auto kTensorCore = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  return {
      {5, {kTensorCore, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, bytes, false, true},
      {3, {kTensorCore, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, bytes, false, true},
      {8, {kTensorCore}, bytes, true, true},
      {6, {kTensorCore}, bytes, false, true},
      {7, {kTensorCore}, bytes, false, true},
  };
}

}  // namespace emulated_gpu::cudnn
