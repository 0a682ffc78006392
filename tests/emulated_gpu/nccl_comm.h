#pragma once

#include <cuda.h>
#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulated_gpu/context.h"
#include "emulated_gpu/nccl_board.h"
#include "emulated_gpu/nccl_work.h"

namespace emulated_gpu {

/// A communicator as one member has it. Strict where NCCL lets things pass: who uses it before the
/// last thing that was asked of it is done, or when it is gone, ends the process with a line.
class NcclComm : public std::enable_shared_from_this<NcclComm> {
 public:
  NcclComm(const ncclUniqueId& id, std::shared_ptr<Board> board, int rank, int size,
           bool is_blocking);
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  int rank() const { return member_.rank; }
  int size() const { return member_.size; }
  bool is_blocking() const { return is_blocking_; }
  const Context& context() const { return *context_; }
  const std::string& last_error() const { return last_error_; }

  /// How far it is: ncclInProgress, ncclSuccess, or what went wrong.
  ncclResult_t state();
  /// The same; of one that blocks, when it is done.
  ncclResult_t settled();
  /// Ends the process unless it is ready for the next thing.
  void check_ready();

  /// At once, or a little later: it is in progress until then.
  ncclResult_t enqueue(CUstream stream, std::vector<NcclCall> calls);

  ncclResult_t finalize();
  bool is_finalized() const { return is_finalized_; }
  /// What runs and what is enqueued ends with garbage.
  void set_aborted() { is_aborted_ = true; }
  /// Until nothing of it is on any stream.
  void wait_for_work();
  bool has_work() const { return work_.use_count() > 1; }

 private:
  void join();
  ncclResult_t find_wrong_members();
  CUresult submit(CUstream stream, const std::vector<NcclCall>& calls);

  ncclUniqueId id_;
  NcclMember member_;
  bool is_blocking_;
  Context* context_;
  std::string last_error_;
  bool is_started_ = false;
  bool is_finalized_ = false;
  std::atomic<bool> is_aborted_{false};
  std::atomic<bool> is_late_{false};                ///< what was asked for last is not enqueued yet
  std::atomic<ncclResult_t> failure_{ncclSuccess};  ///< told late
  std::shared_ptr<int> work_ = std::make_shared<int>();  ///< all that is enqueued has it
  std::thread late_;
  std::uint64_t luck_;
};

/// The communicator of a handle; ends the process where it is none, or none any more.
std::shared_ptr<NcclComm> find_comm(ncclComm_t handle);
ncclComm_t add_comm(std::shared_ptr<NcclComm> comm);
void remove_comm(ncclComm_t handle);

}  // namespace emulated_gpu
