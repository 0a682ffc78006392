#pragma once

#include "backend/backend.h"
#include "support/host_tensor.h"

namespace meshwork::testing {

using Integers = std::vector<std::int64_t>;

/// Of a pool `w` is the window alone.
struct Geometry {
  Shape x, w;
  Integers strides, low, high;
  Integers dilations = Integers(strides.size(), 1);
  std::int64_t groups = 1;

  /// [n, extents of the result.., channels]
  Shape y(std::int64_t channels) const;
};

/// One use of an op, with operands in one dtype.
struct Use {
  const OpDef* op = nullptr;
  std::vector<HostTensor> inputs;
  Attrs attrs;
  TensorType output;
};

/// Whole numbers from low to high.
HostTensor integers(const Shape& shape, DType dtype, std::uint64_t seed, int low, int high);

/// Runs the kernel on memory full of garbage that begins `shift` elements behind aligned addresses.
HostTensor on_gpu(const Use& use, const KernelDef& kernel, std::int64_t shift);
HostTensor naive(const Use& use);

/// CHECKs that the kernel gives what the naive one does: of whole numbers nothing is rounded before
/// the end.
void check_use(const Use& use, const KernelDef& kernel, std::int64_t shift = 0);
/// The same of the kernel that GPUs have for the op.
void check_use(const Use& use, std::int64_t shift = 0);

Shape inner(const Shape& x);

// Of whole numbers from -2 to 2.
Use convolution(const Geometry& g, DType dtype, DType result);
Use backward_data(const Geometry& g, DType dtype, DType result);
Use backward_filter(const Geometry& g, DType dtype, DType result);

}  // namespace meshwork::testing
