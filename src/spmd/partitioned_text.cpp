#include <fmt/format.h>

#include "base/join.h"
#include "graph/text.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

/// " by all_to_all(data) of 0 to 1".
std::string step_text(const ReshardStep& step, const Mesh& mesh) {
  std::string text =
      fmt::format(" by {}({})", to_string(step.kind), join(mesh.axis_names(step.axes), ", "));
  if (step.dim >= 0) text += fmt::format(" of {}", step.dim);
  if (step.to_dim >= 0) text += fmt::format(" to {}", step.to_dim);
  return text;
}

}  // namespace

std::string print(const Partitioned& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    const auto step = program.steps.find(id);
    return to_string(program.layouts[id], mesh) +
           (step == program.steps.end() ? "" : step_text(step->second, mesh));
  });
}

}  // namespace meshwork
