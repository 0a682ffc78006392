#include "comm/cuda/nccl/connection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/wait.h"
#include "comm/cuda/nccl/guard.h"
#include "comm/cuda/nccl/library.h"

namespace meshwork::cuda {
namespace {

using std::chrono::microseconds;

/// What member 0 tells the others: the number under which NCCL's members find each other.
struct Invitation {
  std::array<std::int64_t, sizeof(ncclUniqueId) / sizeof(std::int64_t)> id{};
  std::int64_t result = ncclSuccess;
};

Invitation invite(Hosts& hosts) {
  Invitation mine;
  if (hosts.rank() == 0) {
    ncclUniqueId id{};
    mine.result = nccl().ncclGetUniqueId(&id);
    mine.id = std::bit_cast<decltype(mine.id)>(id);
  }
  return hosts.gather_all(mine)[0];
}

}  // namespace

NcclConnection::NcclConnection(std::shared_ptr<Hosts> hosts, Gpu& gpu,
                               std::shared_ptr<NcclGuard> guard)
    : hosts_(std::move(hosts)),
      gpu_(gpu),
      guard_(std::move(guard)),
      exceptions_(std::uncaught_exceptions()) {
  try {
    start();
  } catch (...) {
    if (comm_ != nullptr) static_cast<void>(nccl().ncclCommAbort(comm_));
    throw;
  }
  guard_->add(*this);
}

NcclConnection::~NcclConnection() {
  guard_->remove(*this);
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() == exceptions_) {
    close();
  } else {
    static_cast<void>(nccl().ncclCommAbort(comm_));
  }
}

void NcclConnection::start() {
  gpu_.make_current();
  const Invitation invitation = invite(*hosts_);
  check(static_cast<ncclResult_t>(invitation.result), "inviting the members of a group");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto id = std::bit_cast<ncclUniqueId>(invitation.id);
  complete(nccl().ncclCommInitRankConfig(&comm_, hosts_->size(), id, hosts_->rank(), &config),
           "connecting the members of a group");
}

void NcclConnection::check(ncclResult_t result, std::string_view what) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  gpu_.make_current();
  std::size_t available = 0, all = 0;
  cuda::check(driver().cuMemGetInfo(&available, &all), fmt::format("GPU {} failed", gpu_.number()));
  cuda::check(result, comm_, what);
}

ncclResult_t NcclConnection::state(ncclResult_t result) const {
  if (comm_ == nullptr || result != ncclInProgress) return result;
  const ncclResult_t asked = nccl().ncclCommGetAsyncError(comm_, &result);
  return asked == ncclSuccess ? result : asked;
}

void NcclConnection::complete(ncclResult_t result, std::string_view what) {
  for (microseconds pause(100);; pause = std::min(2 * pause, microseconds(20000))) {
    result = state(result);
    const auto results = hosts_->tell(result);
    const auto failed = std::find_if(results.begin(), results.end(), [](std::int64_t other) {
      return other != ncclSuccess && other != ncclInProgress;
    });
    check(result, what);
    if (failed != results.end()) {
      fail(ExitCode::kCommunication, "collectives: nccl: {} failed on member {} of it", what,
           failed - results.begin());
    }
    if (std::count(results.begin(), results.end(), ncclInProgress) == 0) return;
    std::this_thread::sleep_for(pause);
  }
}

void NcclConnection::close() noexcept {
  try {
    gpu_.make_current();
    complete(nccl().ncclCommFinalize(comm_), "leaving a group");
    static_cast<void>(nccl().ncclCommDestroy(comm_));
  } catch (...) {
    // Others are lost, of which they or the launcher tell.
    static_cast<void>(nccl().ncclCommAbort(comm_));
  }
}

void NcclConnection::enqueue(const NcclCalls& calls, std::string_view what) {
  gpu_.make_current();
  ncclResult_t result = ncclInProgress;
  const auto ask = [&](const auto& question) {
    gpu_.halt().check();
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return;  // halted just now
    question();
    check(result, what);
  };
  ask([&] {
    check(nccl().ncclGroupStart(), what);
    const ncclResult_t asked = calls(comm_);
    result = nccl().ncclGroupEnd();
    check(asked, what);
  });
  Spin spin{kSpinTime};
  while (result == ncclInProgress) {
    if (!spin.again()) std::this_thread::sleep_for(microseconds(50));
    ask([&] { result = state(result); });
  }
}

void NcclConnection::check_health() {
  {
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) check(state(ncclInProgress), "an exchange failed");
  }
  hosts_->communicator().check_members();
}

ncclComm_t NcclConnection::give_up() {
  const std::lock_guard lock(mutex_);
  return std::exchange(comm_, nullptr);
}

}  // namespace meshwork::cuda
