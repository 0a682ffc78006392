#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/wait_word.h"

namespace meshwork {

/// Where the members of one prepared call meet, in memory that they share; zero bytes are a fresh
/// one. Counts go on from round to round and may wrap around.
struct CallBoard {
  alignas(64) WaitWord started;                    ///< members that have given their data
  alignas(64) WaitWord done;                       ///< members that have done their share
  alignas(64) std::atomic<std::uint32_t> working;  ///< that may be at the others' buffers just now
  std::atomic<std::uint32_t> broken;  ///< the round that is pending will not be completed

  /// The pending and all later rounds end in an error.
  void break_up() noexcept;
};

/// What tells one way to share memory from another.
struct CallPeers {
  int rank = 0;
  int size = 1;
  std::chrono::nanoseconds spin{};  ///< how long to spin before sleeping
  /// Whether buffers go away with their owner: threads of one process. A board is broken and
  /// waited for by whoever leaves a pending call.
  bool own_buffers = true;
  std::function<void()> fail_broken = [] {};  ///< throws: why the board was broken
  void (*progress)() = [] {};                 ///< called now and then while asleep
  std::shared_ptr<void> memory{};             ///< of board and slots, kept
  std::shared_ptr<const void> arenas{};       ///< of the others' buffers, kept
};

/// The buffers of a call as one member sees them: those of all members, in its address space.
struct CallBuffers {
  std::vector<const std::byte*> sends;
  std::vector<std::byte*> recvs;                         ///< of kAllReduce; of others only its own
  std::vector<std::vector<std::int64_t>> send_counts{};  ///< of kAllToAll, of all members
};

/// Bytes for a board and the slots of `size` members.
std::size_t board_bytes(const CollectiveCall& call, int size);

/// A prepared call among members that reach each other's buffers. Each takes what it needs, or
/// reduces its part and hands it out, as soon as all have started. `memory` of board_bytes() is the
/// same for all; where the call has slots, `buffers` need not hold any but the member's own. Copies
/// go through `stream`, which is immediate.
std::unique_ptr<PreparedCall> direct_call(const CollectiveCall& call, const CallBuffers& buffers,
                                          std::byte* memory, CallPeers peers, Stream& stream);

}  // namespace meshwork
