#pragma once

#include <map>
#include <memory>
#include <optional>

#include "backend/cuda/windows/cudnn/plan.h"

namespace meshwork::cuda::windows {

/// The state of cuDNN on a stream, on which all enqueues, and the plans of its problems: of one
/// thread, since not every plan bears more.
class Session {
 public:
  /// Of the stream, made by the first call and shared while anyone has it; nullptr where cuDNN is
  /// missing or does not start.
  static std::shared_ptr<Session> of(CudaStream& stream);

  explicit Session(CudaStream& stream);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  cudnnHandle_t handle() const { return handle_; }

  /// Chosen once for a problem; nullptr where cuDNN has none.
  const Plan* plan(const Problem& problem);

 private:
  Gpu& gpu_;
  cudnnHandle_t handle_ = nullptr;
  std::map<Problem, std::optional<Plan>> plans_;
};

}  // namespace meshwork::cuda::windows
