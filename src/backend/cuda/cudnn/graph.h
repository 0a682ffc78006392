#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "backend/cuda/cudnn/descriptor.h"
#include "base/dtype.h"

namespace meshwork::cuda::cudnn {

/// Of a floating-point dtype.
cudnnDataType_t data_type_of(DType dtype);

/// Where a tensor is.
enum class Place {
  kMemory,
  kNowhere,  ///< an intermediate value: no one else sees it
  kByValue,  ///< a number that the host gives
};

struct Tensor {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dims, strides;  ///< elements
  Place place = Place::kMemory;
  std::int64_t alignment = 16;  ///< of its address, bytes
};

/// Operations between tensors, in the order in which they are described. What cuDNN does not take
/// throws an Error.
class Graph {
 public:
  using Handle = cudnnBackendDescriptor_t;

  Handle tensor(const Tensor& tensor);
  /// A description that operations refer to.
  Handle keep(Descriptor description);
  void operation(Descriptor operation);

  /// y = mode(x): x, or x and b, or x, b and a choice.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Handle> operands, Handle y);
  /// y: the index along a dim of each element of x.
  void index(std::int64_t dim, Handle x, Handle y);
  /// c[.., m, n] = the sum over k of a[.., m, k] b[.., k, n], in float32
  void product(Handle a, Handle b, Handle c);
  /// y: x over the dims of which y has 1.
  void reduce(cudnnReduceTensorOp_t mode, Handle x, Handle y);
  /// y: the memory of x by the dims and strides of y.
  void reshape(Handle x, Handle y);

  /// All descriptions; the last one is the graph.
  std::vector<Descriptor> finish(cudnnHandle_t handle) &&;

 private:
  void pointwise_by(Handle kind, std::initializer_list<Handle> operands, Handle y);

  std::vector<Descriptor> descriptions_;
  std::vector<Handle> operations_;
};

}  // namespace meshwork::cuda::cudnn
