#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/cuda/hosts.h"
#include "device/cuda/stream.h"
#include "device/device.h"

namespace meshwork::cuda {

/// A prepared call among devices of one process whose GPUs reach each other's memory. `device` is
/// the caller's, of whose memory small calls take a little. All members prepare it together.
std::unique_ptr<PreparedCall> peer_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                        Device& device, CudaStream& stream);

}  // namespace meshwork::cuda
