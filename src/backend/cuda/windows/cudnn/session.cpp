#include "backend/cuda/windows/cudnn/session.h"

#include <mutex>

#include "base/error.h"

namespace meshwork::cuda::windows {

std::shared_ptr<Session> Session::of(CudaStream& stream) {
  static std::mutex mutex;
  static std::map<CUstream, std::weak_ptr<Session>> sessions;
  if (!has_cudnn()) return nullptr;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Session>& known = sessions[stream.handle()];
  if (auto session = known.lock()) return session;
  try {
    const auto session = std::make_shared<Session>(stream);
    known = session;
    return session;
  } catch (const Error&) {
    return nullptr;  // a library that does not fit the driver, or lacks its parts
  }
}

Session::Session(CudaStream& stream) : gpu_(stream.gpu()) {
  gpu_.make_current();
  check(cudnn().cudnnCreate(&handle_), "starting cuDNN");
  const cudnnStatus_t status = cudnn().cudnnSetStream(handle_, stream.handle());
  if (status == CUDNN_STATUS_SUCCESS) return;
  static_cast<void>(cudnn().cudnnDestroy(handle_));
  check(status, "starting cuDNN");
}

Session::~Session() {
  try {
    gpu_.make_current();
  } catch (const Error&) {
    return;  // of a lost device nothing can be given back
  }
  plans_.clear();
  static_cast<void>(cudnn().cudnnDestroy(handle_));
}

const Plan* Session::plan(const Problem& problem) {
  const auto known = plans_.find(problem);
  const auto place =
      known != plans_.end() ? known : plans_.emplace(problem, Plan::choose(handle_, problem)).first;
  return place->second ? &*place->second : nullptr;
}

}  // namespace meshwork::cuda::windows
