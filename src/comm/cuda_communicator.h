#pragma once

#include <cstdint>
#include <memory>

#include "comm/communicator.h"
#include "machine/identity.h"

namespace meshwork {

/// The communicator of GPU devices over that of their hosts, threads or ranks, which moves small
/// messages between hosts, or all data where GPUs do not reach each other. `gpu` is the number of
/// the caller's GPU; devices may share one. All members call it together.
///
/// Devices of one `machine` whose GPUs reach each other read each other's memory: any, where they
/// are threads of one process; where they are processes of their own, memory of allocate() (null,
/// too, where one of them has not enough), and all that is small. start() enqueues the call then,
/// and the host waits for the other hosts to do the same, never for a device. All other data go
/// through staging memory: start() returns when hosts have exchanged them.
///
/// Members start the calls of a stream in one order. Work that is recorded (Stream::recorded) has
/// no calls in it: what orders devices is enqueued anew each time.
std::shared_ptr<Communicator> cuda_communicator(std::shared_ptr<Communicator> hosts, int gpu,
                                                std::int64_t machine = machine_identity());

/// Bytes of device memory that a prepared call of it takes, at most.
std::int64_t cuda_call_bytes(const CollectiveCall& call);

}  // namespace meshwork
