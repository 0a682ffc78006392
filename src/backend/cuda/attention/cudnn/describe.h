#pragma once

#include <vector>

#include "backend/cuda/attention/cudnn/task.h"
#include "backend/cuda/cudnn/graph.h"

namespace meshwork::cuda::attention {

/// Numbers of the tensors. Of the log_sums cuDNN wants those of a head together: [b, heads, t].
enum Id : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kY,
  kLogSum,
  kScale,   ///< by value, like the next two
  kHidden,  ///< what a score is that no one sees: -infinity
  kOne,
  kDy,
  kDq,
  kDk,
  kDv,
  kFirstOfOthers,  ///< that are not in memory
};

/// Attention as a graph of operations that cuDNN computes by one kernel; throws an Error where it
/// does not take it.
std::vector<cudnn::Descriptor> describe_forward(cudnnHandle_t handle, const Task& task,
                                                bool with_log_sum);
/// Its three gradients.
std::vector<cudnn::Descriptor> describe_gradients(cudnnHandle_t handle, const Task& task);

}  // namespace meshwork::cuda::attention
