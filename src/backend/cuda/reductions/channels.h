#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/kernel.h"
#include "backend/cuda/reductions/reduce_plan.h"

namespace meshwork::cuda {

/// Of operand 0, along the attribute `axis`.
struct Channels {
  std::int64_t count;
  std::int64_t parts;              ///< in which each is added up, at most
  std::vector<std::int64_t> axes;  ///< all others
};

Channels channels_of(const KernelArgs& args);

/// How x is added up: in packs of as many as can be read at once of all these tensors, which have
/// its shape.
Reduction plan_channels(const Channels& channels, const Shape& shape,
                        std::initializer_list<const TensorView*> tensors);

/// Of kernels that have 32 threads for what is left of each channel, 8 of them side by side.
Grid grid_of_channels(const Channels& channels);

/// The text of kernels that fold pairs of sums, behind what it needs (Pair, Op, Shifted), which
/// knows X, the dtype of x, and V, the elements of a pack.
std::string pairs_source(std::string_view text);

inline constexpr std::int64_t kPairBytes = 8;  ///< of two sums in float32

}  // namespace meshwork::cuda
