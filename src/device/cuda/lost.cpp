#include "device/cuda/lost.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

namespace meshwork::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// What the lost one says of itself, with the place where it was, comes first to the user.
constexpr std::chrono::seconds kTimeToTell{1};

struct Lost {
  std::mutex mutex;
  std::exception_ptr reason;
  Clock::time_point time;
};

std::atomic<int> opened{0};
std::atomic<bool> is_lost{false};

Lost& lost() {
  static auto* const instance = new Lost();  // threads may still wait when the process ends
  return *instance;
}

}  // namespace

void note_opened() noexcept { ++opened; }

bool are_several() noexcept { return opened > 1; }

bool is_fatal(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

void note_lost(std::exception_ptr reason) noexcept {
  const std::lock_guard lock(lost().mutex);
  if (is_lost) return;
  lost().reason = std::move(reason);
  lost().time = Clock::now();
  is_lost = true;
}

bool is_one_lost() noexcept { return is_lost; }

bool is_loss_told() noexcept {
  if (!is_lost) return false;
  const std::lock_guard lock(lost().mutex);
  return Clock::now() - lost().time > kTimeToTell;
}

void check_none_lost() {
  if (!is_lost) return;
  const std::lock_guard lock(lost().mutex);
  std::rethrow_exception(lost().reason);
}

}  // namespace meshwork::cuda
