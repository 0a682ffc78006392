#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace meshwork {

/// The communicator of GPU devices that exchange by NCCL, each on a GPU of its own: over that of
/// their hosts, threads or ranks, of one machine or of several. `gpu` is the number of the caller's
/// GPU. All members call it together; a configuration Error, on all alike, where devices share a
/// GPU. Of threads only with emulated GPUs: by some of its functions CUDA's driver waits for all
/// GPUs of a process, on which kernels may wait for the thread that has called it.
///
/// It adds in an order of NCCL's own: results depend on the members, and are the same from run to
/// run as far as NCCL's are. start() enqueues the call, and waits for the others only where NCCL
/// still has to connect them. A lost member, and what NCCL tells of late, end the work that is
/// enqueued, and then the host's waits for it.
///
/// Members start the calls of all their groups in one order, on one stream: so it is always the
/// first call that not all have done yet that runs on all its members, and they never wait for each
/// other in a circle.
std::shared_ptr<Communicator> nccl_communicator(std::shared_ptr<Communicator> hosts, int gpu);

/// A configuration Error, of one line, where NCCL is missing.
void check_nccl();

/// For people: "NCCL 2.28.9", or "not there: " and why.
std::string nccl_version();

/// Bytes of device memory that a prepared call takes, beside what NCCL takes, which nobody knows.
std::int64_t nccl_call_bytes(const CollectiveCall& call);

}  // namespace meshwork
