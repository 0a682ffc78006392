#include "exec/kernel_args.h"

#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {

TensorView unplaced(const Graph& program, ValueId id) {
  return {.type = program.type(id),
          .region = program.regions[static_cast<std::size_t>(id)],
          .data = nullptr};
}

void for_each_kernel(const Plan& plan, std::byte* arena, const KernelStep& step) {
  const auto view = [&](ValueId id) {
    const std::int64_t offset = plan.offsets[static_cast<std::size_t>(id)];
    TensorView view = unplaced(plan.program, id);
    view.data = offset == Plan::kNoPlace ? arena : arena + offset;
    return view;
  };
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind != Instruction::Kind::kKernel || instruction.nodes.size() != 1) continue;
    const ValueId id = instruction.nodes.front();
    if (is_view(plan.program, id)) continue;
    KernelArgs args = kernel_args(plan.program, id, view);
    args.workspace = arena + instruction.workspace;
    step(plan.program.node(id).op->name, args);
  }
}

}  // namespace meshwork
