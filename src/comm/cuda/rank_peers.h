#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/cuda/hosts.h"
#include "comm/cuda/peer.h"
#include "comm/cuda/shared_gpu.h"

namespace meshwork::cuda {

/// Events of the members of a group that are processes, for all of its calls: of events that
/// processes share a machine has few.
struct GroupEvents {
  std::vector<std::shared_ptr<PeerEvents>> members;  ///< by rank
  std::shared_ptr<std::int64_t> rounds;              ///< as of Peers
};

/// Each opens those of the others. Nothing, for all alike, where one does not get at them. All
/// members call it together.
std::optional<GroupEvents> group_events(Hosts& hosts, SharedGpu& share);

/// The members of a call that are processes of this machine: each opens the memory of the others.
/// Nothing, for all alike, where a buffer is not in memory that `share` has given,
/// or one does not get at what another shares. All members call it together.
std::optional<Peers> rank_peers(Hosts& hosts, const CollectiveCall& call, SharedGpu& share,
                                const GroupEvents& events);

}  // namespace meshwork::cuda
