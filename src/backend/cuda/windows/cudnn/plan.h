#pragma once

#include <optional>
#include <vector>

#include "backend/cuda/windows/cudnn/descriptor.h"
#include "backend/cuda/windows/cudnn/problem.h"

namespace meshwork::cuda::windows {

/// A problem with the algorithm that computes it.
class Plan {
 public:
  /// With the first of cuDNN's algorithms, the fastest by its estimate, that gives the same bits
  /// each time, rounds nothing but the result, and fits into the scratch of the problem; nothing
  /// where there is none.
  static std::optional<Plan> choose(cudnnHandle_t handle, const Problem& problem);

  const Descriptor& plan() const { return plan_; }

 private:
  Plan(std::vector<Descriptor> descriptions, Descriptor plan)
      : descriptions_(std::move(descriptions)), plan_(std::move(plan)) {}

  std::vector<Descriptor> descriptions_;  ///< that the plan may refer to
  Descriptor plan_;
};

}  // namespace meshwork::cuda::windows
