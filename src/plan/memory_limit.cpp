#include "plan/memory_limit.h"

namespace meshwork {

void check_memory_limit(const config::Config& config, const std::string& program,
                        const MemoryUse& use, int device) {
  if (!config.memory_limit) return;
  const std::int64_t limit = config.memory_limit->bytes;
  if (use.bytes() <= limit) return;
  config::fail_at(
      config.memory_limit->at,
      "memory_limit is {} bytes, but {} takes at least {} on device {}: {} for weights, {}{} for "
      "the "
      "state of the optimizer and {} for the step; lower fit.batch_size (gradient_accumulation_"
      "steps of the optimizer makes up for it), take more devices, or shard variables with "
      "layout_map and optimizer_layout",
      limit, program, use.bytes(), device, use.weights,
      use.cache == 0 ? "" : fmt::format("{} for the cache of keys and values, ", use.cache),
      use.optimizer, use.step);
}

}  // namespace meshwork
