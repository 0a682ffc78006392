#include "support/text/layouts.h"

#include <algorithm>

#include "base/error.h"
#include "support/text/cursor.h"

namespace meshwork::testing {
namespace {

int parse_axis(TextCursor& line, const std::string& name, const Mesh& mesh) {
  const auto axis = std::ranges::find(mesh.names, name);
  if (axis == mesh.names.end()) line.error("the mesh has no axis '{}'", name);
  return static_cast<int>(axis - mesh.names.begin());
}

std::vector<int> parse_axes(TextCursor& line, const Mesh& mesh) {
  std::vector<int> axes;
  do {
    axes.push_back(parse_axis(line, line.word(), mesh));
  } while (line.take(","));
  return axes;
}

/// What stands before `word`, which is taken off with it; all if it is not there.
std::string before(std::string_view& text, std::string_view word) {
  const std::size_t end = std::min(text.find(word), text.size());
  const std::string first(text.substr(0, end));
  text.remove_prefix(std::min(end + word.size(), text.size()));
  return first;
}

NodeLayout parse_node_layout(const LaidOut& program, ValueId id, std::string_view text,
                             const Mesh& mesh) {
  NodeLayout layout;
  const std::string result = before(text, " of ");
  std::string_view made = result;
  const std::string kept = before(made, " from ");
  layout.any_layout = kept == "any";
  layout.output = layout.any_layout ? replicated(program.graph.type(id).shape.size())
                                    : parse_layout(kept, mesh);
  layout.computed = made.empty() ? layout.output : parse_layout(std::string(made), mesh);
  for (const ValueId input : program.graph.node(id).inputs) {
    layout.inputs.push_back(text.empty() ? program.layouts[input].output
                                         : parse_layout(before(text, " | "), mesh));
  }
  return layout;
}

StepKind step_kind(TextCursor& line) {
  const std::string word = line.word();
  for (int kind = 0; kind <= static_cast<int>(StepKind::kKeepOne); ++kind) {
    if (to_string(static_cast<StepKind>(kind)) == word) return static_cast<StepKind>(kind);
  }
  line.error("no reshard is called '{}'", word);
}

ReshardStep parse_step(TextCursor line, const Layout& after, const Mesh& mesh) {
  ReshardStep step;
  step.kind = step_kind(line);
  step.after = after;
  line.expect("(");
  step.axes = parse_axes(line, mesh);
  line.expect(")");
  if (line.take("of")) step.dim = static_cast<int>(line.integer());
  if (line.take("to")) step.to_dim = static_cast<int>(line.integer());
  return step;
}

}  // namespace

Layout parse_layout(const std::string& text, const Mesh& mesh) {
  TextCursor line(text, 0);
  Layout layout;
  line.expect("[");
  while (!line.take("]")) {
    if (!layout.dims.empty()) line.expect(",");
    std::vector<int>& axes = layout.dims.emplace_back();
    if (line.take("[")) {
      axes = parse_axes(line, mesh);
      line.expect("]");
    } else if (const std::string name = line.word(); name != "null") {
      axes = {parse_axis(line, name, mesh)};
    }
    if (!line.take("{")) continue;
    std::vector<Interval> halo;
    while (!line.take("}")) {
      const std::string interval = line.word();
      const std::size_t colon = std::min(interval.find(':'), interval.size() - 1);
      halo.push_back({std::stoll(interval), std::stoll(interval.substr(colon + 1))});
    }
    set_halo(layout, layout.dims.size() - 1, std::move(halo));
  }
  if (line.at_end()) return layout;
  layout.reduction = line.word() == "partial_max" ? Reduction::kMax : Reduction::kSum;
  line.expect("(");
  layout.partial = parse_axes(line, mesh);
  line.expect(")");
  return layout;
}

LaidOut parse_laid_out(std::string_view text, const Mesh& mesh, const LookUpOp& lookup) {
  LaidOut program;
  std::vector<std::string> layouts;
  program.graph =
      parse(text, lookup, [&](ValueId, std::string_view line) { layouts.emplace_back(line); });
  if (layouts.size() != program.graph.nodes.size()) fail("not every value has a layout");
  for (const ValueId id : program.graph.ids()) {
    const std::string& line = layouts[static_cast<std::size_t>(id)];
    program.layouts.push_back(parse_node_layout(program, id, line, mesh));
  }
  return program;
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

}  // namespace meshwork::testing
