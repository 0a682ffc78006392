#include "backend/cuda/windows/cudnn/graph.h"

#include <array>

#include "base/check.h"

namespace meshwork::cuda::windows {
namespace {

/// Of a sum in float32 that is not in memory.
constexpr std::int64_t kSumId = 4;

cudnnDataType_t data_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    default:
      MW_CHECK(false, "a convolution of {}", to_string(dtype));
  }
}

std::vector<std::int64_t> channels_last_strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  std::int64_t stride = dims[1];
  for (std::size_t d = dims.size() - 1; d > 1; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  strides[0] = stride;
  return strides;
}

Descriptor describe_tensor(const Tensor& tensor, bool is_in_memory) {
  Descriptor described(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  described.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type_of(tensor.dtype));
  described.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.dims);
  described.set(CUDNN_ATTR_TENSOR_STRIDES, channels_last_strides(tensor.dims));
  described.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id);
  described.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, tensor.alignment);
  described.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, !is_in_memory);
  described.finalize();
  return described;
}

Descriptor describe_windows(const Problem& problem) {
  Descriptor windows(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION);
  windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
              static_cast<std::int64_t>(problem.strides.size()));
  windows.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, problem.strides);
  windows.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, problem.dilations);
  windows.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, problem.padding);
  windows.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, problem.padding_behind);
  windows.finalize();
  return windows;
}

/// One of the three operations, and the names of what it is told.
struct Operation {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, windows, alpha, beta;
};

Operation operation_of(Sought sought) {
  switch (sought) {
    case Sought::kY:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Sought::kX:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Sought::kW:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

Descriptor describe_operation(const Problem& problem, const Descriptor& windows,
                              const Descriptor& x, const Descriptor& w, const Descriptor& y) {
  const Operation names = operation_of(problem.sought);
  Descriptor operation(names.type);
  operation.set(names.windows, windows);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  operation.finalize();
  return operation;
}

/// y = x, in another dtype.
Descriptor describe_identity() {
  Descriptor identity(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  identity.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
  identity.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  identity.finalize();
  return identity;
}

Descriptor describe_copy(const Descriptor& identity, const Descriptor& from, const Descriptor& to) {
  Descriptor copy(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  copy.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, identity);
  copy.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  copy.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  copy.finalize();
  return copy;
}

}  // namespace

std::vector<Descriptor> describe(cudnnHandle_t handle, const Problem& problem) {
  // Of narrow operands cuDNN's convolutions give a narrow result: a wide one is a copy of the sums,
  // which are not rounded and not in memory.
  const bool widens = problem.result().dtype != problem.operand().dtype;
  Tensor sums = problem.result();
  sums.id = kSumId;
  const auto described = [&](const Tensor& tensor) {
    const bool is_sum = widens && tensor.id == problem.result().id;
    return describe_tensor(is_sum ? sums : tensor, !is_sum);
  };
  std::vector<Descriptor> all;
  all.push_back(described(problem.x));
  all.push_back(described(problem.w));
  all.push_back(described(problem.y));
  all.push_back(describe_windows(problem));
  all.push_back(describe_operation(problem, all[3], all[0], all[1], all[2]));
  std::vector<cudnnBackendDescriptor_t> operations{all.back().get()};
  if (widens) {
    const auto result = static_cast<std::size_t>(problem.result().id - 1);
    all.push_back(describe_identity());
    all.push_back(describe_tensor(problem.result(), true));
    all.push_back(describe_copy(all[all.size() - 2], all[result], all.back()));
    operations.push_back(all.back().get());
  }
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                static_cast<std::int64_t>(operations.size()), operations.data());
  graph.finalize();
  all.push_back(std::move(graph));
  return all;
}

}  // namespace meshwork::cuda::windows
