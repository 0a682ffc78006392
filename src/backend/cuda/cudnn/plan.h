#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/cudnn/descriptor.h"

namespace meshwork::cuda::cudnn {

/// Whether they multiply; they round operands of float32.
enum class TensorCores { kMay, kMust };

/// What is to be computed, and how.
struct Problem {
  std::string text;  ///< all that decides on the algorithm: of two that are the same one is made
  std::function<std::vector<Descriptor>(cudnnHandle_t)>
      describe;                ///< as Graph::finish() gives them
  std::int64_t workspace = 0;  ///< bytes that the algorithm may take
  TensorCores tensor_cores = TensorCores::kMust;
};

/// A problem with the algorithm that computes it.
class Plan {
 public:
  /// With the first of cuDNN's algorithms, the fastest by its estimate, that gives the same bits
  /// each time, rounds nothing that the problem does not, and fits into its workspace; nothing
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

}  // namespace meshwork::cuda::cudnn
