#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi_limits.h"
#include "comm/mpi_ranks.h"

namespace meshwork {

/// A prepared call by messages alone, of `ranks`, which outlive it: an exchange of all with all, or
/// a gather of what one member alone has. `tag` is its own; `stream` is immediate.
std::unique_ptr<PreparedCall> message_call(const MpiRanks& ranks, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, Stream& stream);

}  // namespace meshwork
