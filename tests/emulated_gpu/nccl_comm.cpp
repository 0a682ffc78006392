#include "emulated_gpu/nccl_comm.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "emulated_gpu/luck.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {
namespace {

using std::chrono::microseconds;

std::array<std::byte, 16> uuid_of(int device) {
  CUuuid uuid{};
  std::array<std::byte, 16> bytes{};
  CUdevice handle = 0;
  if (cuDeviceGet(&handle, device) != CUDA_SUCCESS) break_off("there is no such device");
  if (cuDeviceGetUuid(&uuid, handle) != CUDA_SUCCESS) break_off("a device has no number");
  std::memcpy(bytes.data(), uuid.bytes, sizeof uuid.bytes);
  return bytes;
}

/// EMULATED_GPU_FAIL_NCCL: the process's so manieth work fails, from 1; 0: none.
bool fails_now() {
  static const char* const text = std::getenv("EMULATED_GPU_FAIL_NCCL");
  static const long failing = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  static std::atomic<long> count{0};
  return ++count == failing;
}

/// All that live, by handle; a handle is never given twice.
struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, std::shared_ptr<NcclComm>> comms;
  std::uintptr_t last = 0;
};

Registry& registry() {
  static auto* const instance = new Registry();
  return *instance;
}

std::uintptr_t number(ncclComm_t handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

NcclComm::NcclComm(const ncclUniqueId& id, std::shared_ptr<Board> board, int rank, int size,
                   bool is_blocking)
    : id_(id),
      member_{std::move(board), rank, size, [this] { return is_aborted_.load(); }},
      is_blocking_(is_blocking),
      context_(current_context()),
      luck_(settings().seed + static_cast<std::uint64_t>(rank)) {
  Board& all = *member_.board;
  int nobody = 0;
  if (!all.size.compare_exchange_strong(nobody, size) && nobody != size) {
    break_off("members of a communicator do not agree how many they are");
  }
  Board::Member& mine = all.members[static_cast<std::size_t>(rank)];
  mine.device = uuid_of(context_->device());
  if (mine.is_there.exchange(1) != 0) break_off("a rank of a communicator comes twice");
  ++all.come;
}

NcclComm::~NcclComm() {
  join();
  if (rank() == 0) close_board(id_);
}

void NcclComm::join() {
  if (late_.joinable()) late_.join();
}

ncclResult_t NcclComm::find_wrong_members() {
  const auto& members = member_.board->members;
  for (std::size_t second = 0; second < static_cast<std::size_t>(size()); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (members[first].device != members[second].device) continue;
      last_error_ = "Duplicate GPU detected : rank " + std::to_string(first) + " and rank " +
                    std::to_string(second) + " both on one CUDA device";
      return ncclInvalidUsage;
    }
  }
  return ncclSuccess;
}

ncclResult_t NcclComm::state() {
  if (failure_ != ncclSuccess) return failure_;
  if (is_late_) return ncclInProgress;
  if (is_finalized_) {
    return member_.board->leaving == size() ? ncclSuccess : ncclInProgress;
  }
  if (is_started_) return ncclSuccess;
  if (member_.board->come < size()) return ncclInProgress;
  const ncclResult_t result = find_wrong_members();
  is_started_ = result == ncclSuccess;
  return result;
}

ncclResult_t NcclComm::settled() {
  ncclResult_t result = state();
  while (is_blocking_ && result == ncclInProgress) {
    std::this_thread::sleep_for(microseconds(50));
    result = state();
  }
  return result;
}

void NcclComm::check_ready() {
  if (state() == ncclInProgress) {
    break_off("a communicator is used before what was asked of it last is done");
  }
  if (is_finalized_) break_off("a communicator is used that is finalized");
}

CUresult NcclComm::submit(CUstream stream, const std::vector<NcclCall>& calls) {
  const auto work = [self = shared_from_this(), held = work_, calls] {
    return run(self->member_, calls);
  };
  return emulated_gpu::enqueue(stream, work);
}

ncclResult_t NcclComm::enqueue(CUstream stream, std::vector<NcclCall> calls) {
  join();
  if (fails_now()) {
    last_error_ = "a member was told to fail";
    failure_ = ncclRemoteError;
    // On the device it never ends.
    const auto hang = [self = shared_from_this(), held = work_] {
      while (!self->is_aborted_) std::this_thread::sleep_for(microseconds(50));
      return CUDA_SUCCESS;
    };
    static_cast<void>(emulated_gpu::enqueue(stream, hang));
    return ncclSuccess;
  }
  if (is_blocking_ || next_luck(luck_) % 3 != 0) {
    return submit(stream, calls) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
  }
  is_late_ = true;
  late_ = std::thread([this, stream, calls = std::move(calls)] {
    current_context() = context_;
    std::this_thread::sleep_for(microseconds(200));
    if (submit(stream, calls) != CUDA_SUCCESS) failure_ = ncclUnhandledCudaError;
    is_late_ = false;
  });
  return ncclInProgress;
}

ncclResult_t NcclComm::finalize() {
  check_ready();
  wait_for_work();
  is_finalized_ = true;
  ++member_.board->leaving;
  return settled();
}

void NcclComm::wait_for_work() {
  join();
  while (has_work()) std::this_thread::sleep_for(microseconds(50));
}

std::shared_ptr<NcclComm> find_comm(ncclComm_t handle) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const auto found = held.comms.find(number(handle));
  if (found == held.comms.end()) {
    break_off("a communicator is used that was never made, or is destroyed or aborted");
  }
  return found->second;
}

ncclComm_t add_comm(std::shared_ptr<NcclComm> comm) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  held.last += 64;
  held.comms[held.last] = std::move(comm);
  return reinterpret_cast<ncclComm_t>(held.last);
}

void remove_comm(ncclComm_t handle) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  held.comms.erase(number(handle));
}

}  // namespace emulated_gpu
