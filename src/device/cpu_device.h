#pragma once

#include <memory>

#include "device/device.h"

namespace meshwork {

/// A device whose memory is the host's and whose streams are immediate.
std::unique_ptr<Device> make_cpu_device(Target target);

}  // namespace meshwork
