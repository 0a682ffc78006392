#include "plan/memory_limit.h"

namespace meshwork {

void check_memory_limit(const config::Config& config, const LimitedProgram& program,
                        const MemoryUse& use, int device) {
  if (!config.memory_limit) return;
  const std::int64_t limit = config.memory_limit->bytes;
  if (use.bytes() <= limit) return;
  const auto part = [](std::int64_t bytes, const char* what) {
    return bytes == 0 ? "" : fmt::format("{} for {}, ", bytes, what);
  };
  const std::string others = part(use.cache, "the cache of keys and values") +
                             part(use.samples, "samples of the data") +
                             part(use.collectives, "collectives");
  config::fail_at(
      config.memory_limit->at,
      "memory_limit is {} bytes, but {} takes at least {} on device {} of the mesh {}: {} for "
      "weights, {}{} for "
      "the state of the optimizer and {} for the step; {}take more devices, or shard variables "
      "with "
      "layout_map and optimizer_layout",
      limit, program.name, use.bytes(), device, to_string(config.mesh), use.weights, others,
      use.optimizer, use.step, program.way_out.empty() ? "" : program.way_out + ", ");
}

}  // namespace meshwork
