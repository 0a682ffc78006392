#pragma once

#include <nccl.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "comm/cuda/hosts.h"
#include "device/cuda/gpu.h"

namespace meshwork::cuda {

class NcclGuard;

using NcclCalls = std::function<ncclResult_t(ncclComm_t)>;

/// What one device has of NCCL for a group: ncclComm_t, which all members make together, and close
/// together when nothing that was enqueued is left. It never blocks within NCCL: hosts tell each
/// other how far it is, so that a lost member ends what the others wait for.
class NcclConnection {
 public:
  NcclConnection(std::shared_ptr<Hosts> hosts, Gpu& gpu, std::shared_ptr<NcclGuard> guard);
  /// Behind an error alone, without the others.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  /// Enqueues as one what `calls` asks of NCCL, of which it gives the first bad result; returns
  /// when the device has it. `what` names it in errors.
  void enqueue(const NcclCalls& calls, std::string_view what);

  /// Throws what has gone wrong since: a lost member, or what NCCL tells late. For any thread.
  void check_health();
  /// Nothing is enqueued any more; gives what is to be aborted, at most once.
  ncclComm_t give_up();

 private:
  void start();
  /// Throws what NCCL says, or of a GPU that has failed what the driver says.
  void check(ncclResult_t result, std::string_view what) const;
  /// Until no member is at it any more; an Error on all alike where one has failed.
  void complete(ncclResult_t result, std::string_view what);
  void close() noexcept;
  ncclResult_t state(ncclResult_t result) const;

  std::shared_ptr<Hosts> hosts_;
  Gpu& gpu_;
  std::shared_ptr<NcclGuard> guard_;
  int exceptions_;
  std::mutex mutex_;           ///< of what NCCL is asked
  ncclComm_t comm_ = nullptr;  ///< null: aborted
};

}  // namespace meshwork::cuda
