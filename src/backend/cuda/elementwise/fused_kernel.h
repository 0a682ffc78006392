#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/elementwise/broadcast.h"
#include "backend/cuda/index.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// A fusion group as a kernel, which loads all that it reads of its elements before it stores any
/// of them. Its source depends on formulas, dtypes and on the dimensions along which operands
/// repeat; extents and numbers are parameters, those of several groups side by side in one launch.
struct FusedKernel {
  // Parameters, as the source declares them.
  struct Sizes {
    std::int64_t count = 0;  ///< elements of the result
    /// So many of them, from the first on, are loaded and stored by vectors; and so many lie in
    /// vectors that cross no rows, where what repeats is loaded by vectors too.
    std::int64_t wide = 0, rows = 0;
  };

  Source source;  ///< without PASSES; the kernel has its name
  std::vector<std::byte*> places;
  Sizes sizes;
  std::vector<Divisor> dims;
  std::vector<float> numbers;
  Grid grid;
};

/// Of a group that is elementwise alone, and not empty.
FusedKernel fused_kernel(const FusionGroup& group);

/// "fused_multiply_add", as profilers show it.
std::string name_of(const FusionGroup& group);

/// Kernels of the same source as one launch, or as few as parameters let; compiled now.
Launch launch_of(std::span<const FusedKernel> kernels, CudaStream& stream);

/// Parameters of a kernel with so many dimensions.
std::vector<Divisor> dims_of(const Nest& nest);

}  // namespace meshwork::cuda
