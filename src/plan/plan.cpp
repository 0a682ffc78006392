#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/block_counts.h"
#include "base/check.h"
#include "base/index.h"
#include "base/join.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/views.h"

namespace meshwork {
namespace {

/// Bytes that a device sends in a collective, by algorithms that are optimal in bandwidth.
double sent_bytes(const Graph& program, const Node& node) {
  if (!is_collective(node)) return 0;
  const auto bytes = [&](const std::vector<std::int64_t>& counts) {
    return static_cast<double>(total(counts)) * static_cast<double>(size_of(node.type.dtype));
  };
  const auto members = static_cast<double>(node.collective->members.size());
  const double others = (members - 1) / members;
  switch (node.op->collective) {
    case Collective::kNone:
      return 0;
    case Collective::kAllReduce:
      return 2 * static_cast<double>(num_bytes(program.type(node.inputs[0]))) * others;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
      return bytes(node.collective->counts) * others;
    case Collective::kAllToAll: {
      auto counts = node.collective->counts;
      counts[index(node.collective->own)] = 0;
      return bytes(counts);
    }
  }
  return 0;
}

}  // namespace

void ask_for_memory(Plan& plan, const MemoryQuery& query) {
  for (Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::kStart) {
      if (query.collective) plan.collective_bytes += query.collective(plan.program, instruction);
    } else if (instruction.kind == Instruction::Kind::kKernel && query.workspace &&
               !is_view(plan.program, instruction.nodes.front())) {
      instruction.workspace_bytes = query.workspace(plan.program, instruction);
    }
  }
  plan.sample_bytes = query.samples;
}

std::vector<Traffic> traffic(const Plan& plan) {
  std::vector<Traffic> result;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind != Instruction::Kind::kStart) continue;
    const Node& first = plan.program.node(instruction.nodes.front());
    auto entry = std::find_if(result.begin(), result.end(),
                              [&](const Traffic& t) { return t.op == first.op->name; });
    if (entry == result.end()) entry = result.insert(entry, {std::string(first.op->name), 0, 0});
    ++entry->calls;
    entry->bytes += sent_bytes(plan.program, instruction);
  }
  return result;
}

double sent_bytes(const Graph& program, const Instruction& instruction) {
  double bytes = 0;
  for (const ValueId id : instruction.nodes) bytes += sent_bytes(program, program.node(id));
  return bytes;
}

MemoryUse memory_use(const Plan& plan) {
  MemoryUse use;
  for (const Variable& variable : plan.program.variables) {
    if (!variable.slot_of.empty()) continue;
    (variable.is_cache ? use.cache : use.weights) += num_bytes(plan.program.type(variable.value));
  }
  use.optimizer = plan.step_begin - use.weights - use.cache;
  use.step = plan.arena_bytes - plan.step_begin;
  use.collectives = plan.collective_bytes;
  use.samples = plan.sample_bytes;
  return use;
}

std::string to_string(const Plan& plan) {
  std::string text;
  const auto value = [&](ValueId id) {
    const std::int64_t offset = plan.offsets.empty() ? Plan::kNoPlace : plan.offsets[id];
    return offset == Plan::kNoPlace ? fmt::format("%{}", id) : fmt::format("%{}@{}", id, offset);
  };
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& instruction = plan.instructions[i];
    if (instruction.kind == Instruction::Kind::kFinish) {
      text += fmt::format("{:4} finish {}, waits for event {}\n", i, instruction.started,
                          instruction.done);
    }
    const bool starts = instruction.kind == Instruction::Kind::kStart;
    if (starts) {
      text += fmt::format("{:4} communication waits for event {}, records event {}\n", i,
                          instruction.ready, instruction.done);
    }
    for (std::size_t n = 0; n < instruction.nodes.size(); ++n) {
      const ValueId id = instruction.nodes[n];
      const bool is_next = n > 0 && instruction.passes > 1 && n % instruction.nodes_of_pass() == 0;
      const char* start = starts ? "start " : is_next ? "beside " : "";
      const Node& node = plan.program.node(id);
      std::vector<std::string> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(value(input));
      const char* kind = is_view(plan.program, id) ? " view" : "";
      text +=
          fmt::format("{:4} {}{} = {}({}){} : {}{}  # {}\n", i, start, value(id), node.op->name,
                      join(inputs, ", "), attrs_text(node), to_string(node.type), kind, node.path);
    }
  }
  for (const FinalCopy& copy : plan.copies) {
    text += fmt::format("copy {} -> {}\n", value(copy.from), value(copy.variable));
  }
  for (const Traffic& t : traffic(plan)) {
    text += fmt::format("traffic {}: {} calls, {:.0f} bytes sent\n", t.op, t.calls, t.bytes);
  }
  const std::int64_t unused = plan.arena_bytes - plan.live_bytes;
  text += fmt::format(
      "memory: {} bytes, of them {} for variables and {} for a step; {} ({:.1f} %) more "
      "than are ever in use at once\n",
      plan.arena_bytes, plan.variable_bytes, plan.arena_bytes - plan.variable_bytes, unused,
      100.0 * static_cast<double>(unused) /
          static_cast<double>(std::max<std::int64_t>(plan.live_bytes, 1)));
  return text;
}

}  // namespace meshwork
