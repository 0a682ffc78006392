#pragma once

#include <memory>

#include "device/device.h"

namespace meshwork {

/// A device whose memory is the host's and whose streams are immediate. It computes with `threads`
/// threads.
std::unique_ptr<Device> make_cpu_device(int threads);

}  // namespace meshwork
