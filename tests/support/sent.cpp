#include "support/sent.h"

#include <algorithm>
#include <numeric>

#include "compile.h"
#include "graph/op_def.h"
#include "support/training.h"

namespace meshwork::testing {

Plan training_plan(const std::string& text, const std::string& mesh, int device, ProgramKind kind) {
  const Job job = job_of(text, mesh);
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, kind, job.config.fit.batch_size);
  return compile_for_device(program, job.mesh, device, {});
}

std::vector<Sent> sent_by(const Plan& plan) {
  std::vector<Sent> result;
  for (const Instruction& instruction : plan.instructions) {
    for (const ValueId id : instruction.nodes) {
      const Node& node = plan.program.node(id);
      if (node.op->collective == Collective::kNone) continue;
      result.push_back({std::string(node.op->name), node.phase, node.collective->members,
                        num_elements(plan.program.type(node.inputs[0]).shape), node.path});
    }
  }
  return result;
}

std::int64_t parameters(const Plan& plan) {
  std::int64_t count = 0;
  for (const Variable& variable : plan.program.variables) {
    if (variable.slot_of.empty()) count += num_elements(plan.program.type(variable.value).shape);
  }
  return count;
}

/// All but the sums of loss and metrics.
std::vector<Sent> tensors(std::vector<Sent> sent) {
  std::erase_if(sent, [](const Sent& s) { return s.elements == 1; });
  return sent;
}

std::int64_t elements(const std::vector<Sent>& sent) {
  return std::accumulate(sent.begin(), sent.end(), std::int64_t{0},
                         [](std::int64_t sum, const Sent& s) { return sum + s.elements; });
}

}  // namespace meshwork::testing
