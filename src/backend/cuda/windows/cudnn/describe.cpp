#include "backend/cuda/windows/cudnn/describe.h"

#include "backend/cuda/cudnn/graph.h"

namespace meshwork::cuda::windows {
namespace {

using cudnn::Descriptor;
using Handle = cudnn::Graph::Handle;

/// Of a sum in float32 that is not in memory.
constexpr std::int64_t kSumId = 4;

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

Handle describe_tensor(cudnn::Graph& graph, const Tensor& tensor, cudnn::Place place) {
  return graph.tensor({.id = tensor.id,
                       .type = cudnn::data_type_of(tensor.dtype),
                       .dims = tensor.dims,
                       .strides = channels_last_strides(tensor.dims),
                       .place = place,
                       .alignment = tensor.alignment});
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

Descriptor describe_operation(Sought sought, Handle windows, Handle x, Handle w, Handle y) {
  const Operation names = operation_of(sought);
  Descriptor operation(names.type);
  operation.set(names.windows, windows);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  return operation;
}

}  // namespace

std::vector<Descriptor> describe(cudnnHandle_t handle, const Problem& problem) {
  // Of narrow operands cuDNN's convolutions give a narrow result: a wide one is a copy of the sums,
  // which are not rounded and not in memory.
  const bool widens = problem.result().dtype != problem.operand().dtype;
  Tensor sums = problem.result();
  sums.id = kSumId;
  cudnn::Graph graph;
  const auto described = [&](const Tensor& tensor) {
    const bool is_sum = widens && tensor.id == problem.result().id;
    return describe_tensor(graph, is_sum ? sums : tensor,
                           is_sum ? cudnn::Place::kNowhere : cudnn::Place::kMemory);
  };
  const Handle x = described(problem.x), w = described(problem.w), y = described(problem.y);
  const Handle windows = graph.keep(describe_windows(problem));
  graph.operation(describe_operation(problem.sought, windows, x, w, y));
  if (widens) {
    const Handle sum = problem.sought == Sought::kY ? y : problem.sought == Sought::kX ? x : w;
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, {sum},
                    describe_tensor(graph, problem.result(), cudnn::Place::kMemory));
  }
  return std::move(graph).finish(handle);
}

}  // namespace meshwork::cuda::windows
