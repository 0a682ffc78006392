#pragma once

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "graph/op_def.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// The collectives of a device, as all devices should see them.
inline std::vector<std::string> calls_of(const Plan& plan) {
  std::vector<std::string> calls;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::kKernel) continue;
    std::string call = instruction.kind == Instruction::Kind::kStart ? "start" : "finish";
    for (const ValueId id : instruction.nodes) {
      const Node& node = plan.program.node(id);
      call += fmt::format(" {} of {} over {}, {}", node.op->name, node.path,
                          fmt::join(node.collective ? node.collective->axes : Shape{}, ","),
                          static_cast<int>(node.phase));
    }
    calls.push_back(call);
  }
  return calls;
}

}  // namespace meshwork::testing
