#pragma once

#include <memory>

#include "comm/direct_call.h"
#include "comm/machines.h"
#include "comm/mpi_limits.h"
#include "comm/mpi_ranks.h"

namespace meshwork {

/// What the members on one machine have in common in a call. Where they share no memory, each is a
/// machine of its own.
struct MachineSite {
  Machines machines;
  CallBuffers buffers;  ///< of the members on this machine
  /// A fresh CallBoard of theirs, of which `started` and `done` count.
  std::shared_ptr<std::byte> board;
  std::shared_ptr<const void> arenas;  ///< of the others' buffers, kept
};

/// A prepared reduction or gather of members on several machines: by shared memory within a
/// machine, and by messages between machines, to each of which all data go but once. Of `ranks`,
/// which outlive it; `tag` and the one after it are its own; `stream` is immediate.
std::unique_ptr<PreparedCall> machine_call(const MpiRanks& ranks, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, MachineSite site,
                                           Stream& stream);

}  // namespace meshwork
