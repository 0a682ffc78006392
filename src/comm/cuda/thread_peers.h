#pragma once

#include "comm/cuda/hosts.h"
#include "comm/cuda/peer.h"
#include "device/device.h"

namespace meshwork::cuda {

/// The members of a call that are threads of this process: each has what the others have. Who keeps
/// one may use its events and slots, whatever becomes of its owner. `device` is the caller's, of
/// whose memory small calls take a little. All members call it together.
Peers thread_peers(Hosts& hosts, const CollectiveCall& call, Device& device, const Gpu& gpu);

}  // namespace meshwork::cuda
