#pragma once

#include <optional>
#include <string>
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

  /// That of a text(), of a problem that was the same; nothing where it does not fit.
  static std::optional<Plan> read(cudnnHandle_t handle, const std::string& text,
                                  const Problem& problem);
  /// With all that was compiled for it; empty where cuDNN cannot say it.
  std::string text() const;

  /// Whether its kernels were compiled for it, which takes seconds.
  bool is_compiled() const { return is_compiled_; }

  const Descriptor& plan() const { return plan_; }

 private:
  Plan(std::vector<Descriptor> descriptions, Descriptor plan, bool is_compiled)
      : descriptions_(std::move(descriptions)), plan_(std::move(plan)), is_compiled_(is_compiled) {}

  std::vector<Descriptor> descriptions_;  ///< that the plan may refer to
  Descriptor plan_;
  bool is_compiled_;
};

}  // namespace meshwork::cuda::windows
