#include "job/same_calls.h"

#include <xxhash.h>

#include "base/check.h"
#include "base/join.h"
#include "graph/op_def.h"
#include "job/first_difference.h"

namespace meshwork {
namespace {

/// A line for each collective, as all devices see it.
std::string calls_of(const DevicePlans& plans) {
  std::string text;
  for (const auto& [key, plan] : plans.plans) {
    for (const Instruction& instruction : plan.instructions) {
      if (instruction.kind != Instruction::Kind::kStart) continue;
      for (const ValueId id : instruction.nodes) {
        const Node& node = plan.program.node(id);
        text += fmt::format("{} of {} over axes {}, {}, program {} of {}\n", node.op->name,
                            node.path, join(node.collective->axes, " "), to_string(node.type.dtype),
                            static_cast<int>(key.kind), key.batch);
      }
    }
  }
  return text;
}

}  // namespace

void check_same_calls(const DevicePlans& plans, HostGroup& hosts) {
  if (hosts.size() == 1) return;
  const std::string mine = calls_of(plans);
  const auto hash = static_cast<std::int64_t>(XXH64(mine.data(), mine.size(), 0));
  const std::vector<std::int64_t> hashes = gather(hosts, hash);
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    const std::vector<std::string> all = gather_texts(hosts, mine);
    const auto [here, there] = first_difference(all[0], all[rank], "none");
    MW_CHECK(hashes[rank] == hashes[0],
             "collectives of ranks 0 (here) and {} (there) differ: '{}' here, '{}' there; `fusion: "
             "false` may do without",
             rank, here, there);
  }
}

}  // namespace meshwork
