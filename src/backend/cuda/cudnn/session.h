#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/cuda/cudnn/plan.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::cudnn {

/// The state of cuDNN on a stream, on which all enqueues, and the plans of its problems: of one
/// thread, since not every plan bears more.
class Session {
 public:
  /// Of the stream, made by the first call and kept for the process; nullptr where cuDNN is missing
  /// or does not start.
  static Session* of(CudaStream& stream);

  explicit Session(const Gpu& gpu);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  cudnnHandle_t handle() const { return handle_; }

  /// Chosen once for a problem, and kept for other streams and processes where it was compiled;
  /// nullptr where cuDNN has none.
  const Plan* plan(const Problem& problem);

 private:
  /// All enqueues there from now on: a new stream may stand where one was.
  void turn_to(CudaStream& stream);

  std::optional<Plan> make_plan(const Problem& problem) const;

  const Gpu& gpu_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::string, std::optional<Plan>> plans_;  ///< by the texts of problems
};

}  // namespace meshwork::cuda::cudnn
