#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/cuda/hosts.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// What a member of a prepared call shows the others, which are threads of its process.
struct Peer {
  Peer(const Gpu& gpu, const CollectiveCall& its_call)
      : call(its_call), ready{CudaEvent(gpu), CudaEvent(gpu)}, done(gpu) {}

  CollectiveCall call;
  std::shared_ptr<std::byte> slots;   ///< device memory; null: the others come to the buffers
  std::array<CudaEvent, 2> ready;     ///< its data are there; of even and odd rounds
  CudaEvent done;                     ///< it has done its share
  std::atomic<bool> enqueues{false};  ///< just now, what may touch others' buffers
  std::atomic<bool> left{false};      ///< a round that others may be in
};

using Peers = std::vector<std::shared_ptr<Peer>>;

/// Those of all members, by rank. Who keeps one may use its events and slots, whatever becomes of
/// its owner. Throws what the hosts' calls do.
Peers exchange(Hosts& hosts, const std::shared_ptr<Peer>& mine, std::int64_t call);

/// Breaks, on all alike, where members have prepared different calls.
void check_same_call(const Peers& peers);

}  // namespace meshwork::cuda
