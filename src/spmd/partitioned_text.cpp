#include <fmt/format.h>

#include "base/error.h"
#include "base/join.h"
#include "graph/text_cursor.h"
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

ReshardStep parse_step(TextCursor line, const Layout& after, const Mesh& mesh) {
  ReshardStep step;
  step.kind = step_kind(line.word());
  step.after = after;
  line.expect("(");
  step.axes = parse_axes(line, mesh);
  line.expect(")");
  if (line.take("of")) step.dim = static_cast<int>(line.integer());
  if (line.take("to")) step.to_dim = static_cast<int>(line.integer());
  return step;
}

}  // namespace

std::string print(const Partitioned& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    const auto step = program.steps.find(id);
    return to_string(program.layouts[id], mesh) +
           (step == program.steps.end() ? "" : step_text(step->second, mesh));
  });
}

Partitioned parse_partitioned(std::string_view text, const Mesh& mesh, const LookUpOp& lookup) {
  Partitioned program;
  program.graph = parse(text, lookup, [&](ValueId id, std::string_view line) {
    const std::size_t by = line.find(" by ");
    program.layouts.push_back(parse_layout(std::string(line.substr(0, by)), mesh));
    if (by == std::string_view::npos) return;
    const TextCursor step(line.substr(by + 4), id);
    program.steps.emplace(id, parse_step(step, program.layouts.back(), mesh));
  });
  if (program.layouts.size() != program.graph.nodes.size()) fail("not every value has a layout");
  return program;
}

}  // namespace meshwork
