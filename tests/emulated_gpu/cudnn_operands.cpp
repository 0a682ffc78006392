#include "emulated_gpu/cudnn_operands.h"

#include <algorithm>

namespace emulated_gpu::cudnn {
namespace {

using Dims = std::vector<std::int64_t>;

Dims dims_of(const Descriptor& tensor) { return tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS); }

bool is_final(const Descriptor* descriptor) {
  return descriptor != nullptr && descriptor->finalized;
}

/// Whether all is there that the operation names.
bool are_final(const Operands& operands) {
  return is_final(operands.to) && std::all_of(operands.from.begin(), operands.from.end(), is_final);
}

/// Whether each dim is the other's, or 1.
bool broadcasts(const Dims& dims, const Dims& to) {
  if (dims.size() != to.size()) return false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != to[d] && dims[d] != 1) return false;
  }
  return true;
}

Operands collect(const Descriptor& operation, const std::vector<int>& from, int to, int kind) {
  Operands operands;
  for (const int name : from) operands.from.push_back(operation.other(name));
  while (!operands.from.empty() && operands.from.back() == nullptr) operands.from.pop_back();
  operands.to = operation.other(to);
  operands.kind = operation.other(kind);
  return operands;
}

}  // namespace

Operands operands_of(const Descriptor& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return collect(operation,
                     {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC},
                     CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_ATTR_OPERATION_MATMUL_DESC);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return collect(operation,
                     {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                      CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
                     CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                     CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return collect(operation, {CUDNN_ATTR_OPERATION_REDUCTION_XDESC},
                     CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return collect(operation, {CUDNN_ATTR_OPERATION_RESHAPE_XDESC},
                     CUDNN_ATTR_OPERATION_RESHAPE_YDESC, -1);
    default:
      return {};
  }
}

std::size_t reads(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_IDENTITY:
    case CUDNN_POINTWISE_EXP:
    case CUDNN_POINTWISE_LOG:
    case CUDNN_POINTWISE_GEN_INDEX:
      return 1;
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_CMP_GE:
      return 2;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return 3;
    default:
      return 0;
  }
}

bool is_good_pointwise(const Descriptor& operation) {
  const Operands operands = operands_of(operation);
  if (!are_final(operands) || !is_final(operands.kind)) return false;
  const auto mode = operands.kind->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  if (operands.from.empty() || operands.from.size() != reads(mode)) return false;
  const Dims dims = dims_of(*operands.to);
  const auto axis = operands.kind->one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
  if (mode == CUDNN_POINTWISE_GEN_INDEX &&
      (!operands.kind->has(CUDNN_ATTR_POINTWISE_AXIS) || axis < 0 ||
       axis >= static_cast<std::int64_t>(dims.size()))) {
    return false;
  }
  return dims_of(*operands.from[0]) == dims &&
         std::all_of(operands.from.begin(), operands.from.end(),
                     [&](const Descriptor* tensor) { return broadcasts(dims_of(*tensor), dims); });
}

bool is_good_product(const Descriptor& operation) {
  const Operands operands = operands_of(operation);
  if (operands.from.size() != 2 || !are_final(operands) || !is_final(operands.kind)) return false;
  const Dims a = dims_of(*operands.from[0]);
  const Dims b = dims_of(*operands.from[1]);
  const Dims c = dims_of(*operands.to);
  if (a.size() != 4 || b.size() != 4) return false;
  return b[1] > 0 && a[0] == b[0] && a[1] % b[1] == 0 && a[3] == b[2] &&
         c == Dims{a[0], a[1], a[2], b[3]};
}

bool is_good_reduction(const Descriptor& operation) {
  const Operands operands = operands_of(operation);
  if (operands.from.size() != 1 || !are_final(operands) || !is_final(operands.kind)) return false;
  const Dims x = dims_of(*operands.from[0]);
  const Dims y = dims_of(*operands.to);
  const auto how = operands.kind->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  return (how == CUDNN_REDUCE_TENSOR_ADD || how == CUDNN_REDUCE_TENSOR_MAX) && broadcasts(y, x);
}

bool is_good_reshape(const Descriptor& operation) {
  const Operands operands = operands_of(operation);
  return operands.from.size() == 1 && are_final(operands) &&
         elements(dims_of(*operands.from[0])) == elements(dims_of(*operands.to));
}

}  // namespace emulated_gpu::cudnn
