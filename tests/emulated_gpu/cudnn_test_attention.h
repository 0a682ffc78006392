// Graphs of attention, as programs describe it to cuDNN.
#pragma once

#include "emulated_gpu/cudnn_test_graph.h"

namespace emulated_gpu::testing {

/// Attention of queries at t places to keys at s, which `keys` heads have.
struct Problem {
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  std::int64_t b = 2, h = 4, keys = 4, t = 5, s = 5, d = 16;
  bool causal = false, statistics = false;
  bool interleaved = false;  ///< statistics: heads beside each other
  bool whole = true;         ///< with statistics, be they virtual
  cudnnDataType_t values = type;
  std::int64_t stride = 1;  ///< of channels in memory
  std::int64_t alignment = 16;
  float scale = 0.25F;

  // Places of memory: [b, t, h, d].
  Integers queries() const { return {b, h, t, d}; }
  Integers others() const { return {b, keys, s, d}; }
  Integers strides(const Integers& dims) const {
    const std::int64_t channels = dims[3] * stride;
    return {dims[2] * dims[1] * channels, channels, dims[1] * channels, stride};
  }
  Integers scores() const { return {b, h, t, s}; }
  Integers lines() const { return {b, h, t, 1}; }
  Integers statistics_strides() const {
    return interleaved ? Integers{h * t, 1, h, 1} : packed(lines());
  }
};

/// Numbers of tensors.
enum Id : std::int64_t { kQ = 1, kK, kV, kO, kStats, kDO, kDQ, kDK, kDV, kScale, kMasked, kOne };

/// O, and statistics where the problem asks for them.
Description forward(const Problem& problem, cudnnHandle_t handle);
/// DQ, DK and DV; as many heads of keys as of queries.
Description gradients(const Problem& problem, cudnnHandle_t handle);

}  // namespace emulated_gpu::testing
