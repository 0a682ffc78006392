#include "job/gpu_memory.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/rounded_up.h"
#include "machine/identity.h"

namespace meshwork {
namespace {

/// What a device tells the others.
struct Need {
  GpuMemory gpu;
  std::int64_t process = 0;
  std::int64_t arena = 0, collectives = 0, samples = 0;
};

struct Sum {
  int devices = 0;
  std::set<std::int64_t> processes = {};
  std::int64_t arenas = 0, collectives = 0, samples = 0, available = 0;
  std::int64_t bytes() const { return arenas + collectives + samples; }
};

/// As the driver gives it.
std::int64_t whole(std::int64_t bytes) { return rounded_up(bytes, std::int64_t{2} << 20U); }

/// Left free for kernels that are loaded, and programs that are recorded, when they first run: by
/// each process for itself.
std::int64_t driver_bytes(const GpuMemory& gpu, const Sum& sum) {
  constexpr std::int64_t kMost = std::int64_t{256} << 20U;
  return std::ssize(sum.processes) * std::min(kMost, gpu.bytes / 32);
}

/// Of all devices on a GPU. What is free changes while they open it: the least of what they saw.
Sum needs_on(const GpuMemory& gpu, const std::vector<Need>& all) {
  Sum sum{.available = gpu.available};
  for (const Need& need : all) {
    if (need.gpu.gpu != gpu.gpu) continue;
    ++sum.devices;
    sum.processes.insert(need.process);
    sum.arenas += need.arena;
    sum.collectives += need.collectives;
    sum.samples += need.samples;
    sum.available = std::min(sum.available, need.gpu.available);
  }
  return sum;
}

}  // namespace

void check_gpu_memory(const Job& job, const MemoryUse& use, const GpuMemory& gpu,
                      HostGroup& hosts) {
  const std::vector<Need> all = gather_all(hosts, Need{gpu, process_mark(), whole(use.arena()),
                                                       whole(use.collectives), whole(use.samples)});
  for (std::size_t device = 0; device < all.size(); ++device) {
    const GpuMemory& there = all[device].gpu;
    const Sum sum = needs_on(there, all);
    if (sum.bytes() + driver_bytes(there, sum) <= sum.available) continue;
    fail(
        "{}: {} on GPU {} (of device {}) take{} {} ({} for weights and steps, {} for samples of "
        "the data, {} for collectives), and {} of its {} are free, of which {} are left to the "
        "driver; take a smaller batch, a mesh that shards more, more GPUs, or set memory_limit for "
        "a device",
        job.config.file,
        sum.devices == 1 ? "the device" : fmt::format("the {} devices", sum.devices), there.number,
        device, sum.devices == 1 ? "s" : "", show_bytes(sum.bytes()), show_bytes(sum.arenas),
        show_bytes(sum.samples), show_bytes(sum.collectives), show_bytes(sum.available),
        show_bytes(there.bytes), show_bytes(driver_bytes(there, sum)));
  }
}

}  // namespace meshwork
