#include "backend/cuda/cudnn/session.h"

#include <mutex>

#include "base/error.h"
#include "base/terminal.h"
#include "device/cuda/cache.h"

namespace meshwork::cuda::cudnn {
namespace {

constexpr const char* kEnding = ".cudnn";

/// Of what is described for a problem: raised where the same text comes to mean another graph.
constexpr int kRevision = 1;

/// All that the choice of a plan depends on.
std::string key_of(const Gpu& gpu, const Problem& problem) {
  int driver_version = 0;
  driver().cuDriverGetVersion(&driver_version);
  return fmt::format("cuDNN {}, driver {}, revision {}\n{} {} {} {}\n",
                     functions().cudnnGetVersion(), driver_version, kRevision, gpu.name(),
                     gpu.capability(), gpu.multiprocessors(), gpu.memory()) +
         problem.text;
}

}  // namespace

Session* Session::of(CudaStream& stream) {
  // Never given back: at the end of the process cuDNN may be gone before.
  static auto& sessions = *new std::map<std::pair<int, CUstream>, std::unique_ptr<Session>>;
  static std::mutex mutex;
  if (!is_there()) return nullptr;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Session>& session = sessions[{stream.gpu().number(), stream.handle()}];
  try {
    stream.gpu().make_current();
    if (session == nullptr) session = std::make_unique<Session>(stream.gpu());
    session->turn_to(stream);
    return session.get();
  } catch (const Error& error) {
    // A library that does not fit the driver, or lacks its parts.
    static std::once_flag told;
    std::call_once(told, [&] {
      say(
          fmt::format("warning: {}; kernels of Meshwork's own compute convolutions and attention, "
                      "slower and with other last bits",
                      error.what()));
    });
    return nullptr;
  }
}

Session::Session(const Gpu& gpu) : gpu_(gpu) {
  check(functions().cudnnCreate(&handle_), "starting cuDNN");
}

void Session::turn_to(CudaStream& stream) {
  check(functions().cudnnSetStream(handle_, stream.handle()), "starting cuDNN");
}

const Plan* Session::plan(const Problem& problem) {
  auto place = plans_.find(problem.text);
  if (place == plans_.end()) place = plans_.emplace(problem.text, make_plan(problem)).first;
  return place->second ? &*place->second : nullptr;
}

std::optional<Plan> Session::make_plan(const Problem& problem) const {
  // One after the other: streams that come with the same problem find what the first has compiled,
  // which takes seconds.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string key = key_of(gpu_, problem);
  const auto kept = read_cached(key, kEnding);
  if (kept) {
    if (auto plan = Plan::read(handle_, *kept, problem)) return plan;
  }
  auto plan = Plan::choose(handle_, problem);
  if (!plan || !plan->is_compiled()) return plan;
  if (const std::string text = plan->text(); !text.empty()) keep_cached(key, kEnding, text);
  return plan;
}

}  // namespace meshwork::cuda::cudnn
