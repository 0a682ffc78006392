#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/cuda/hosts.h"
#include "comm/cuda/peer.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// A prepared call among devices whose GPUs reach each other's memory. A process behind an error
/// ends: others may still be at its buffers then, which are not freed (SharedGpu). All members
/// prepare it together.
std::unique_ptr<PreparedCall> peer_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                        Peers peers, CudaStream& stream);

}  // namespace meshwork::cuda
