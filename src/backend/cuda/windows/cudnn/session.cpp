#include "backend/cuda/windows/cudnn/session.h"

#include <mutex>

#include "base/error.h"

namespace meshwork::cuda::windows {

Session* Session::of(CudaStream& stream) {
  // Never given back: at the end of the process cuDNN may be gone before.
  static auto& sessions = *new std::map<std::pair<int, CUstream>, std::unique_ptr<Session>>;
  static std::mutex mutex;
  if (!has_cudnn()) return nullptr;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Session>& session = sessions[{stream.gpu().number(), stream.handle()}];
  try {
    stream.gpu().make_current();
    if (session == nullptr) session = std::make_unique<Session>();
    session->turn_to(stream);
    return session.get();
  } catch (const Error&) {
    return nullptr;  // a library that does not fit the driver, or lacks its parts
  }
}

Session::Session() { check(cudnn().cudnnCreate(&handle_), "starting cuDNN"); }

void Session::turn_to(CudaStream& stream) {
  check(cudnn().cudnnSetStream(handle_, stream.handle()), "starting cuDNN");
}

const Plan* Session::plan(const Problem& problem) {
  const auto known = plans_.find(problem);
  const auto place =
      known != plans_.end() ? known : plans_.emplace(problem, Plan::choose(handle_, problem)).first;
  return place->second ? &*place->second : nullptr;
}

}  // namespace meshwork::cuda::windows
