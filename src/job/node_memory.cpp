#include "job/node_memory.h"

#include <xxhash.h>

#include <optional>
#include <set>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/host_name.h"
#include "machine/identity.h"
#include "machine/memory.h"

namespace meshwork {
namespace {

/// What a device tells the others.
struct Need {
  std::uint64_t node = 0;  ///< a number that stands for its name
  std::int64_t process = 0;
  std::int64_t arena = 0;
  std::int64_t data = 0;       ///< of its process
  std::int64_t available = 0;  ///< on its node
};

struct Sum {
  int devices = 0;
  std::int64_t arenas = 0, data = 0;
};

/// Of the data set, what lies in memory for good: pages of other files may be taken back.
std::int64_t resident_data_bytes(const Job& job) {
  std::set<const data::Source*> counted;
  std::int64_t bytes = 0;
  for (const auto& [kind, split] : job.splits) {
    for (const data::Field& field : split.fields) {
      const data::Source& source = field.source->holder();
      if (counted.insert(&source).second && source.is_resident()) bytes += source.kept_bytes();
    }
  }
  return bytes;
}

Sum needs_on(std::uint64_t node, const std::vector<Need>& all) {
  Sum sum;
  std::set<std::int64_t> processes;
  for (const Need& need : all) {
    if (need.node != node) continue;
    ++sum.devices;
    sum.arenas += need.arena;
    if (processes.insert(need.process).second) sum.data += need.data;
  }
  return sum;
}

std::vector<Need> needs_of_all(const Job& job, std::int64_t arena_bytes, HostGroup& hosts) {
  const std::string name = host_name();
  return gather_all(hosts, Need{.node = XXH3_64bits(name.data(), name.size()),
                                .process = process_mark(),
                                .arena = arena_bytes,
                                .data = resident_data_bytes(job),
                                .available = available_memory()});
}

/// The first device on whose node the sum of all is more than may be used.
std::optional<int> device_without_memory(const std::vector<Need>& all) {
  for (std::size_t device = 0; device < all.size(); ++device) {
    const Sum sum = needs_on(all[device].node, all);
    const std::int64_t available = all[device].available;  // 0: the system does not say
    if (available > 0 && sum.arenas + sum.data > available) return static_cast<int>(device);
  }
  return std::nullopt;
}

}  // namespace

void check_node_memory(const Job& job, std::int64_t arena_bytes, HostGroup& hosts) {
  const std::vector<Need> all = needs_of_all(job, arena_bytes, hosts);
  const std::optional<int> device = device_without_memory(all);
  if (!device) return;
  const Need& there = all[static_cast<std::size_t>(*device)];
  const Sum sum = needs_on(there.node, all);
  const std::string who =
      sum.devices == 1
          ? fmt::format("device {} takes", *device)
          : fmt::format("the {} devices on the node of device {} take", sum.devices, *device);
  fail(
      "{}: {} {} ({} for weights and steps, {} for the data), and {} may be used there; take a "
      "smaller batch, a mesh that shards more, more nodes, or set memory_limit for a device",
      job.config.file, who, show_bytes(sum.arenas + sum.data), show_bytes(sum.arenas),
      show_bytes(sum.data), show_bytes(there.available));
}

bool have_node_memory(const Job& job, std::int64_t arena_bytes, std::int64_t more,
                      HostGroup& hosts) {
  return !device_without_memory(needs_of_all(job, arena_bytes + more, hosts));
}

}  // namespace meshwork
