#include "comm/cuda/nccl/guard.h"

#include <exception>

#include "comm/cuda/nccl/library.h"

namespace meshwork::cuda {
namespace {

constexpr double kSeconds = 0.01;

}  // namespace

NcclGuard::NcclGuard(Gpu& gpu) : gpu_(gpu), ticker_(kSeconds, [this](double) { look(); }) {}

NcclGuard::~NcclGuard() {
  const std::lock_guard lock(mutex_);
  if (is_halted_) gpu_.halt().clear();
}

void NcclGuard::add(NcclConnection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.push_back(&connection);
}

void NcclGuard::remove(NcclConnection& connection) {
  const std::lock_guard lock(mutex_);
  std::erase(connections_, &connection);
}

void NcclGuard::look() {
  const std::lock_guard lock(mutex_);
  if (is_halted_) return;
  try {
    for (NcclConnection* connection : connections_) connection->check_health();
  } catch (...) {
    is_halted_ = true;
    gpu_.halt().set(std::current_exception(), [this] { abort_all(); });
  }
}

/// As one, for none ends while it waits for another.
void NcclGuard::abort_all() {
  try {
    gpu_.make_current();
  } catch (...) {
    return;  // a lost GPU waits for nobody
  }
  static_cast<void>(nccl().ncclGroupStart());
  for (NcclConnection* connection : connections_) {
    const ncclComm_t comm = connection->give_up();
    if (comm != nullptr) static_cast<void>(nccl().ncclCommAbort(comm));
  }
  static_cast<void>(nccl().ncclGroupEnd());
}

}  // namespace meshwork::cuda
