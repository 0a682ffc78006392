#include "plan/check_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/writers.h"

namespace meshwork::testing {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kUnit = 4;

/// Which value was written last to each unit of the arena.
class Shadow {
 public:
  explicit Shadow(const Plan& plan)
      : plan_(plan), owner_(static_cast<std::size_t>(plan.arena_bytes / kUnit + 1), kNoValue) {}

  void write(ValueId id) { write_into(id, id); }
  /// What stands where `part` does is `id` now.
  void write_into(ValueId part, ValueId id) {
    mark(offset(part), num_bytes(plan_.program.type(part)), root(id));
  }
  void scribble(std::int64_t at, std::int64_t bytes) { mark(at, bytes, kNoValue); }

  std::int64_t offset(ValueId id) const { return plan_.offsets[static_cast<std::size_t>(id)]; }

  bool holds(ValueId id) const {
    const std::int64_t bytes = num_bytes(plan_.program.type(id));
    for (std::int64_t at = offset(id); at < offset(id) + bytes; at += kUnit) {
      if (owner_[static_cast<std::size_t>(at / kUnit)] != root(id)) return false;
    }
    return true;
  }

 private:
  ValueId root(ValueId id) const { return viewed(plan_.program, id); }
  void mark(std::int64_t at, std::int64_t bytes, ValueId owner) {
    CHECK(at % kUnit == 0);
    CHECK(at + bytes <= plan_.arena_bytes);
    for (std::int64_t end = at + bytes; at < end; at += kUnit)
      owner_[static_cast<std::size_t>(at / kUnit)] = owner;
  }

  const Plan& plan_;
  std::vector<ValueId> owner_;
};

/// What only the nodes of its fusion read has no place.
bool has_place(const Plan& plan, ValueId id) {
  return plan.offsets[static_cast<std::size_t>(id)] != Plan::kNoPlace;
}

void run_kernel(const Instruction& instruction, const Plan& plan, Shadow& shadow);

/// Passes side by side may run in any order.
void run_passes(const Instruction& instruction, const Plan& plan, Shadow& shadow) {
  const auto count = static_cast<std::ptrdiff_t>(instruction.nodes_of_pass());
  std::vector<Instruction> passes;
  for (auto node = instruction.nodes.begin(); node != instruction.nodes.end(); node += count) {
    passes.push_back({.nodes = {node, node + count}});
  }
  Shadow reversed = shadow;
  for (const Instruction& pass : passes) run_kernel(pass, plan, shadow);
  std::ranges::reverse(passes);
  for (const Instruction& pass : passes) run_kernel(pass, plan, reversed);
}

void run_kernel(const Instruction& instruction, const Plan& plan, Shadow& shadow) {
  if (instruction.passes > 1) return run_passes(instruction, plan, shadow);
  const Graph& program = plan.program;
  shadow.scribble(instruction.workspace, instruction.workspace_bytes);
  for (const ValueId id : instruction.nodes) {
    for (const ValueId input : program.node(id).inputs) {
      if (has_place(plan, input)) CHECK(shadow.holds(input));
    }
    if (!is_view(program, id) && has_place(plan, id)) shadow.write(id);
  }
  // What is no element of a pass, nor of a row that it adds up, is read until its end.
  for (const ValueId id : instruction.nodes) {
    if (instruction.nodes.size() == 1 || program.node(id).op->elementwise) continue;
    if (is_row_sum(program, id)) continue;
    for (const ValueId input : program.node(id).inputs) CHECK(shadow.holds(input));
  }
}

/// Whether what goes into an all-gather is its own block of the result.
bool stands_in_result(const Graph& program, ValueId id, const Shadow& shadow) {
  const ValueId block = program.node(id).inputs[0];
  return program.node(id).op->collective == Collective::kAllGather &&
         shadow.offset(block) == shadow.offset(id) + block_begin(program, id);
}

/// From here on the others may write the results.
void start_collective(const Instruction& start, const Graph& program, Shadow& shadow) {
  for (const ValueId id : start.nodes) CHECK(shadow.holds(program.node(id).inputs[0]));
  const bool reduces = program.node(start.nodes.front()).op->collective == Collective::kAllReduce;
  std::int64_t next = -1;
  for (const ValueId id : start.nodes) {
    if (reduces) {  // side by side
      CHECK((next < 0 || shadow.offset(id) == next));
      next = shadow.offset(id) + (num_bytes(program.type(id)) + kLine - 1) / kLine * kLine;
    } else {
      CHECK(start.nodes.size() == 1);
    }
    shadow.write(id);
    if (stands_in_result(program, id, shadow)) shadow.write(program.node(id).inputs[0]);
  }
}

/// Until here the others may read the operands; all-reduces work in the place of their results.
void finish_collective(const Instruction& start, const Graph& program, Shadow& shadow) {
  for (const ValueId id : start.nodes) {
    const Node& node = program.node(id);
    if (node.op->collective != Collective::kAllReduce) CHECK(shadow.holds(node.inputs[0]));
    if (stands_in_result(program, id, shadow)) shadow.write_into(node.inputs[0], id);
    CHECK(shadow.holds(id));
  }
}

}  // namespace

void check_memory(const Plan& plan) {
  Shadow shadow(plan);
  const Graph& program = plan.program;
  for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id) {
    const std::string_view op = program.node(id).op->name;
    if (op == "input" || op == "variable") shadow.write(id);
  }
  for (const Instruction& instruction : plan.instructions) {
    switch (instruction.kind) {
      case Instruction::Kind::kKernel:
        run_kernel(instruction, plan, shadow);
        break;
      case Instruction::Kind::kStart:
        start_collective(instruction, program, shadow);
        break;
      case Instruction::Kind::kFinish:
        finish_collective(plan.instructions[static_cast<std::size_t>(instruction.started)], program,
                          shadow);
        break;
    }
  }
  for (const NamedValue& output : program.outputs) CHECK(shadow.holds(output.value));
  for (const FinalCopy& copy : plan.copies) {
    CHECK(shadow.holds(copy.from));
    shadow.write(copy.variable);
  }
  // Every variable ends with its new value, written in place or copied.
  for (const Update& update : program.updates) {
    const bool in_place = plan.offsets[static_cast<std::size_t>(update.value)] ==
                          plan.offsets[static_cast<std::size_t>(update.variable)];
    CHECK(shadow.holds(in_place ? update.value : update.variable));
  }
}

}  // namespace meshwork::testing
