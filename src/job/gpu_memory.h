#pragma once

#include "device/cuda_device.h"
#include "job/job.h"

namespace meshwork {

/// Before anything is allocated: what the devices on each GPU take together is held against what is
/// free there. All devices call it. Throws an Error of ExitCode::kConfiguration on all of them
/// where it is not enough.
void check_gpu_memory(const Job& job, const MemoryUse& use, const GpuMemory& gpu, HostGroup& hosts);

}  // namespace meshwork
