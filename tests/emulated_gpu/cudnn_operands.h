#pragma once

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// The tensors of an operation that is no convolution: a product, a reshape, one by elements or a
/// reduction.
struct Operands {
  std::vector<const Descriptor*> from;  ///< in the order of the attributes: x, b, t
  const Descriptor* to = nullptr;
  const Descriptor* kind = nullptr;  ///< its mode; none of a reshape
};
/// Without a result where the operation is another.
Operands operands_of(const Descriptor& operation);

/// How many tensors an operation by elements reads; 0 of one that is not known here.
std::size_t reads(cudnnPointwiseMode_t mode);

// Whether an operation is whole and its tensors fit together.
bool is_good_pointwise(const Descriptor& operation);
bool is_good_product(const Descriptor& operation);
bool is_good_reduction(const Descriptor& operation);
bool is_good_reshape(const Descriptor& operation);

}  // namespace emulated_gpu::cudnn
