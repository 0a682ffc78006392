#include "emulated_gpu/cudnn_descriptors.h"

#include <algorithm>

#include "emulated_gpu/cudnn_operands.h"

namespace emulated_gpu::cudnn {
namespace {

cudnnStatus_t verdict(bool good) { return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM; }

bool is_final(const Descriptor* descriptor) {
  return descriptor != nullptr && descriptor->finalized;
}

bool all_at_least(const std::vector<std::int64_t>& values, std::int64_t least) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int64_t value) { return value >= least; });
}

bool is_good_tensor(const Descriptor& tensor) {
  const auto dims = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto alignment = tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const auto type = tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const bool by_value = tensor.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  if (size_of(type) == 0) return false;
  if (by_value && (tensor.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) || elements(dims) != 1)) {
    return false;
  }
  return !dims.empty() && dims.size() == tensor.integers(CUDNN_ATTR_TENSOR_STRIDES).size() &&
         all_at_least(dims, 0) && alignment > 0 &&
         alignment % static_cast<std::int64_t>(size_of(type)) == 0;
}

bool are_good_windows(const Descriptor& windows) {
  const auto rank = windows.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  const auto has_all = [&](int name, std::int64_t least) {
    const auto values = windows.integers(name);
    return static_cast<std::int64_t>(values.size()) == rank && all_at_least(values, least);
  };
  return rank > 0 && windows.has(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) &&
         windows.has(CUDNN_ATTR_CONVOLUTION_CONV_MODE) &&
         has_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1) &&
         has_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, 1) &&
         has_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0) &&
         has_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0);
}

/// Whether elements fill the memory from the first to the last.
bool is_dense(const Descriptor& tensor) {
  const auto dims = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.integers(CUDNN_ATTR_TENSOR_STRIDES);
  std::int64_t last = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) last += (dims[d] - 1) * strides[d];
  return last + 1 == elements(dims);
}

bool fits(const Convolution& c) {
  const auto x = c.x->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto w = c.w->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto y = c.y->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = c.windows->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto dilations = c.windows->integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto before = c.windows->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto behind = c.windows->integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (x.size() != strides.size() + 2 || w.size() != x.size() || y.size() != x.size()) return false;
  if (x[0] != y[0] || w[0] != y[1] || w[1] == 0 || x[1] == 0 || x[1] % w[1] != 0) return false;
  if (w[0] % (x[1] / w[1]) != 0 || !is_dense(*c.w)) return false;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const std::int64_t span = (w[d + 2] - 1) * dilations[d] + 1;
    const std::int64_t room = x[d + 2] + before[d] + behind[d] - span;
    if (room < 0 || room / strides[d] + 1 != y[d + 2]) return false;
  }
  return true;
}

/// The names of an operation's tensors.
struct Names {
  int x, w, y, windows;
};

bool names_of(cudnnBackendDescriptorType_t type, Names& names) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      names = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC};
      return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      names = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC};
      return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      names = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC};
      return true;
    default:
      return false;
  }
}

/// Of one of the three operations.
Convolution tensors_of(const Descriptor& operation) {
  Names names{};
  if (!names_of(operation.type, names)) return {};
  Convolution c;
  c.operation = &operation;
  c.x = operation.other(names.x);
  c.w = operation.other(names.w);
  c.y = operation.other(names.y);
  c.windows = operation.other(names.windows);
  c.result = names.y == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y     ? c.y
             : names.x == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX ? c.x
                                                                       : c.w;
  return c;
}

bool is_good_operation(const Descriptor& operation) {
  const Convolution c = tensors_of(operation);
  return is_final(c.x) && is_final(c.w) && is_final(c.y) && is_final(c.windows) && fits(c);
}

bool is_good_graph(const Descriptor& graph) {
  const auto operations = graph.all<const Descriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return !operations.empty() && std::all_of(operations.begin(), operations.end(), is_final);
}

}  // namespace

std::size_t size_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_BOOLEAN:
      return 1;
    default:
      return 0;
  }
}

std::int64_t elements(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

cudnnStatus_t check_whole(const Descriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return verdict(is_good_tensor(descriptor));
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return verdict(are_good_windows(descriptor));
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return verdict(descriptor.has(CUDNN_ATTR_POINTWISE_MODE));
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
      return verdict(descriptor.has(CUDNN_ATTR_MATMUL_COMP_TYPE));
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return verdict(descriptor.has(CUDNN_ATTR_REDUCTION_OPERATOR) &&
                     descriptor.has(CUDNN_ATTR_REDUCTION_COMP_TYPE));
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return verdict(is_good_pointwise(descriptor));
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return verdict(is_good_product(descriptor));
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return verdict(is_good_reduction(descriptor));
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return verdict(is_good_reshape(descriptor));
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return verdict(is_good_graph(descriptor));
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
      const Descriptor* const graph = descriptor.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      return verdict(is_final(graph) && graph->has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
                     descriptor.has(CUDNN_ATTR_ENGINEHEUR_MODE));
    }
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      if (!descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)) return CUDNN_STATUS_BAD_PARAM;
      if (descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
        return CUDNN_STATUS_SUCCESS;
      }
      const Descriptor* const chosen = descriptor.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (!is_final(chosen)) return CUDNN_STATUS_BAD_PARAM;
      return chosen->engine.refuses ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return verdict(descriptor.count(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) ==
                     descriptor.count(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
    default:
      return verdict(is_good_operation(descriptor));
  }
}

Convolution convolution_of(const Descriptor& graph) {
  const auto operations = graph.all<const Descriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (operations.empty() || operations.size() > 2) return {};
  Convolution c = tensors_of(*operations[0]);
  const bool is_virtual =
      c.operation != nullptr && c.result->one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  if (operations.size() == 1) return is_virtual ? Convolution{} : c;
  const Descriptor& copy = *operations[1];
  const Descriptor* const kind = copy.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (!is_virtual || copy.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
      copy.other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != c.result ||
      kind->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) != CUDNN_POINTWISE_IDENTITY) {
    return {};
  }
  c.result = copy.other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  return c;
}

}  // namespace emulated_gpu::cudnn
