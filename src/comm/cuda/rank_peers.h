#pragma once

#include <optional>

#include "comm/cuda/hosts.h"
#include "comm/cuda/peer.h"
#include "comm/cuda/shared_gpu.h"

namespace meshwork::cuda {

/// The members of a call that are processes of this machine: each opens the memory and the events
/// of the others. Nothing, for all alike, where a buffer is not in memory that `share` has given,
/// or one does not get at what another shares. All members call it together.
std::optional<Peers> rank_peers(Hosts& hosts, const CollectiveCall& call, SharedGpu& share);

}  // namespace meshwork::cuda
