#pragma once

#include <mutex>
#include <vector>

#include "base/ticker.h"
#include "comm/cuda/nccl/connection.h"
#include "device/cuda/gpu.h"

namespace meshwork::cuda {

/// Looks after all that a device has of NCCL, in a thread of its own, since who waits for the
/// device cannot: where one connection is not well it halts the GPU and aborts them all, for the
/// others may wait for what stands behind it.
class NcclGuard {
 public:
  explicit NcclGuard(Gpu& gpu);
  ~NcclGuard();
  NcclGuard(const NcclGuard&) = delete;
  NcclGuard& operator=(const NcclGuard&) = delete;

  void add(NcclConnection& connection);
  /// Returns when it is not looked at any more.
  void remove(NcclConnection& connection);

 private:
  void look();
  void abort_all();

  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<NcclConnection*> connections_;
  bool is_halted_ = false;
  Ticker ticker_;
};

}  // namespace meshwork::cuda
