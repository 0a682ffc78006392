#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/cuda/hosts.h"
#include "comm/cuda/staging.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// A prepared call among devices that reach each other through their hosts alone: data are copied
/// to staging memory part by part, the hosts run the call there, and results are copied back. Its
/// start() waits for what stands before it on the stream and for the hosts; the last copies back
/// are enqueued. All members prepare it together.
std::unique_ptr<PreparedCall> staged_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                          Staging& staging, CudaStream& stream);

}  // namespace meshwork::cuda
