#include "job/same_calls.h"

#include <xxhash.h>

#include <sstream>

#include "base/check.h"
#include "base/join.h"
#include "graph/op_def.h"

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

/// The first line in which two texts differ, of both.
std::string difference(const std::string& mine, const std::string& theirs) {
  std::istringstream my_lines(mine), their_lines(theirs);
  std::string my_line, their_line;
  while (my_line == their_line) {
    if (!std::getline(my_lines, my_line)) my_line = "none";
    if (!std::getline(their_lines, their_line)) their_line = "none";
  }
  return fmt::format("'{}' here, '{}' there", my_line, their_line);
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
    MW_CHECK(hashes[rank] == hashes[0],
             "collectives of ranks 0 (here) and {} (there) differ: {}; `fusion: false` may do "
             "without",
             rank, difference(all[0], all[rank]));
  }
}

}  // namespace meshwork
