#pragma once

#include <optional>
#include <string>

#include "backend/cuda/attention/operands.h"

namespace meshwork::cuda::attention {

/// Attention in cuDNN's words: `heads` of t queries, of which as many in a row as there are heads
/// for each of the `groups` share their s keys of d features and values of e.
struct Task {
  DType dtype;
  std::int64_t b, heads, groups, t, s, d, e;
  bool causal;  ///< query i sees keys 0 to i
  float scale;

  double flops(double products) const;
  /// Of the largest operand or result.
  std::int64_t most_elements() const;
};

/// The task, if cuDNN's kernels compute what is asked for; `fixed` operands are always there.
std::optional<Task> task_of(const Request& request, std::size_t fixed);

/// Whether cuDNN is worth asking; MESHWORK_CUDNN=never and =always say it for all that it takes.
bool is_for_cudnn(const Task& task, double products);

/// All of it, as a text.
std::string text_of(const Task& task);

}  // namespace meshwork::cuda::attention
