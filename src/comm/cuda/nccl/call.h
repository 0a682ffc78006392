#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/cuda/nccl/connection.h"
#include "device/cuda/stream.h"
#include "device/device.h"

namespace meshwork::cuda {

/// A prepared call by NCCL; this member is `rank`. Its blocks may be uneven or empty. `device` is
/// the caller's, of whose memory it takes nccl_call_bytes().
std::unique_ptr<PreparedCall> nccl_call(std::shared_ptr<NcclConnection> connection,
                                        const CollectiveCall& call, int rank, Device& device,
                                        CudaStream& stream);

}  // namespace meshwork::cuda
