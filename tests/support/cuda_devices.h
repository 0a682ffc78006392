#pragma once

#include "job/job.h"

namespace meshwork::testing {

/// Devices for a job on the GPUs of this machine, in turn.
DeviceFactory cuda_devices();

}  // namespace meshwork::testing
