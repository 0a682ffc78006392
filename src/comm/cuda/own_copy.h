#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// A prepared call of a single member: what it sends itself.
std::unique_ptr<PreparedCall> own_copy(const CollectiveCall& call, CudaStream& stream);

}  // namespace meshwork::cuda
