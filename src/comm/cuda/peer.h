#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/cuda/hosts.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// What streams wait for that read the data of a member.
struct PeerEvents {
  std::array<std::unique_ptr<CudaEvent>, 2>
      ready{};                        ///< its data are there; of even and odd rounds
  std::unique_ptr<CudaEvent> done{};  ///< it has done its share
};

/// A member of a prepared call, as another one reaches it.
struct Peer {
  explicit Peer(CollectiveCall its_call) : call(std::move(its_call)) {}

  CollectiveCall call;                 ///< its buffers are where the other reaches them
  std::shared_ptr<std::byte> slots{};  ///< device memory; null: others come to the buffers
  std::shared_ptr<PeerEvents> events{};
  std::atomic<bool> enqueues{false};  ///< just now, what may touch others' buffers
  std::atomic<bool> left{false};      ///< a round that others may be in
};

/// How the members of a call reach each other: alike for all ways to do so.
struct Peers {
  std::shared_ptr<void> memory{};              ///< of slots and buffers of other processes, kept
  std::vector<std::shared_ptr<Peer>> members;  ///< by rank
  /// Of all calls that have these events, which their members start one after the other, in one
  /// order.
  std::shared_ptr<std::int64_t> rounds;
  /// Whether `enqueues` and `left` are seen by all, and buffers go away with their owner: threads
  /// of one process.
  bool are_threads = true;
};

/// Bytes of one of the two slots of a member: what small calls give; 0 where others come to the
/// buffers.
std::size_t peer_slot_bytes(const CollectiveCall& call);
/// Bytes of both, aligned for the device.
std::size_t slots_bytes(const CollectiveCall& call);

/// The calls that all members prepare, by rank: without buffers, and with numbers for purposes.
std::vector<CollectiveCall> gather_calls(Hosts& hosts, const CollectiveCall& call);

/// Breaks, on all alike, where members have prepared different calls.
void check_same_call(const std::vector<CollectiveCall>& calls);

}  // namespace meshwork::cuda
