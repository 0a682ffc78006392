#include "exec/kernel_args.h"

#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {

TensorView unplaced(const Graph& program, ValueId id) {
  return {.type = program.type(id), .region = program.regions[id], .data = nullptr};
}

void for_each_kernel(const Plan& plan, std::byte* arena, const KernelStep& step) {
  const auto view = [&](ValueId id) {
    const std::int64_t offset = plan.offsets[id];
    TensorView view = unplaced(plan.program, id);
    view.data = offset == Plan::kNoPlace ? arena : arena + offset;
    return view;
  };
  for (const Instruction& instruction : plan.instructions) {
    const bool is_alone = instruction.nodes.size() == 1 || instruction.is_stack;
    const ValueId first = instruction.nodes.empty() ? kNoValue : instruction.nodes.front();
    if (instruction.kind != Instruction::Kind::kKernel || !is_alone) continue;
    if (is_view(plan.program, first)) continue;
    std::vector<KernelArgs> nodes;
    for (const ValueId id : instruction.nodes) {
      nodes.push_back(kernel_args(plan.program, id, view));
      nodes.back().workspace = arena + instruction.workspace;
    }
    step(plan.program.node(first).op->name, nodes);
  }
}

}  // namespace meshwork
