#include "backend/cuda/cudnn/graph.h"

#include <array>

#include "base/check.h"

namespace meshwork::cuda::cudnn {

cudnnDataType_t data_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    default:
      MW_CHECK(false, "cuDNN for {}", to_string(dtype));
  }
}

Graph::Handle Graph::keep(Descriptor description) {
  description.finalize();
  descriptions_.push_back(std::move(description));
  return descriptions_.back().get();
}

void Graph::operation(Descriptor operation) { operations_.push_back(keep(std::move(operation))); }

Graph::Handle Graph::tensor(const Tensor& tensor) {
  Descriptor described(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  described.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  described.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.dims);
  described.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  described.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id);
  described.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, tensor.alignment);
  described.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, tensor.place == Place::kNowhere);
  if (tensor.place == Place::kByValue) {
    described.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  }
  return keep(std::move(described));
}

void Graph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Handle> operands, Handle y) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  pointwise_by(keep(std::move(kind)), operands, y);
}

void Graph::index(std::int64_t dim, Handle x, Handle y) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  kind.set(CUDNN_ATTR_POINTWISE_AXIS, dim);
  pointwise_by(keep(std::move(kind)), {x}, y);
}

void Graph::pointwise_by(Handle kind, std::initializer_list<Handle> operands, Handle y) {
  constexpr std::array kOperands{CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  Descriptor pointwise(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  const auto* name = kOperands.begin();
  for (const Handle operand : operands) pointwise.set(*name++, operand);
  pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation(std::move(pointwise));
}

void Graph::product(Handle a, Handle b, Handle c) {
  Descriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  Descriptor product(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(kind)));
  product.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  operation(std::move(product));
}

void Graph::reduce(cudnnReduceTensorOp_t mode, Handle x, Handle y) {
  Descriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  Descriptor reduction(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(kind)));
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  operation(std::move(reduction));
}

void Graph::reshape(Handle x, Handle y) {
  Descriptor reshape(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  operation(std::move(reshape));
}

std::vector<Descriptor> Graph::finish(cudnnHandle_t handle) && {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                static_cast<std::int64_t>(operations_.size()), operations_.data());
  keep(std::move(graph));
  return std::move(descriptions_);
}

}  // namespace meshwork::cuda::cudnn
