#pragma once

#include <memory>

#include "comm/communicator.h"

namespace meshwork {

/// The communicator of GPU devices over that of their hosts, threads or ranks, which moves small
/// messages between hosts, or all data where GPUs do not reach each other. `gpu` is the number of
/// the caller's GPU; devices may share one. All members call it together.
///
/// Devices of one process whose GPUs reach each other read each other's memory: start() enqueues
/// the call, and the host waits for the other hosts to do the same, never for a device. All other
/// data go through staging memory: start() returns when hosts have exchanged them.
///
/// Members start the calls of a stream in one order. Work that is recorded (Stream::recorded) has
/// no calls in it: what orders devices is enqueued anew each time.
std::shared_ptr<Communicator> cuda_communicator(std::shared_ptr<Communicator> hosts, int gpu);

}  // namespace meshwork
