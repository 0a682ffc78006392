#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/device.h"

namespace meshwork::test {

/// A communicator of devices as one of hosts, so that it can be held to the contract: before a call
/// the buffers are copied to memory of `device`, and back after it, on a stream of their own, which
/// then overwrites all that is there. Members start calls in the same order.
std::shared_ptr<Communicator> hosted_communicator(std::shared_ptr<Communicator> devices,
                                                  std::shared_ptr<Device> device);

}  // namespace meshwork::test
