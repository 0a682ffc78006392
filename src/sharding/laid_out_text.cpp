#include <algorithm>

#include "base/error.h"
#include "sharding/propagate.h"

namespace meshwork {
namespace {

const std::string_view kFlexible = "any";

/// Whether a node wants all its operands as they are kept.
bool takes_all_as_kept(const LaidOut& program, ValueId id) {
  const std::vector<ValueId>& inputs = program.graph.node(id).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!(program.nodes[id].inputs[i] == program.nodes[inputs[i]].output)) return false;
  }
  return true;
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
  layout.any_layout = kept == kFlexible;
  layout.output = layout.any_layout ? replicated(program.graph.type(id).shape.size())
                                    : parse_layout(kept, mesh);
  layout.computed = made.empty() ? layout.output : parse_layout(std::string(made), mesh);
  for (const ValueId input : program.graph.node(id).inputs) {
    layout.inputs.push_back(text.empty() ? program.nodes[input].output
                                         : parse_layout(before(text, " | "), mesh));
  }
  return layout;
}

}  // namespace

std::string print(const LaidOut& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    const NodeLayout& layout = program.nodes[id];
    std::string text = layout.any_layout ? std::string(kFlexible) : to_string(layout.output, mesh);
    if (!(layout.computed == layout.output)) text += " from " + to_string(layout.computed, mesh);
    if (takes_all_as_kept(program, id)) return text;
    for (std::size_t i = 0; i < layout.inputs.size(); ++i) {
      text += (i == 0 ? " of " : " | ") + to_string(layout.inputs[i], mesh);
    }
    return text;
  });
}

LaidOut parse_laid_out(std::string_view text, const Mesh& mesh, const LookUpOp& lookup) {
  LaidOut program;
  std::vector<std::string> layouts;
  program.graph =
      parse(text, lookup, [&](ValueId, std::string_view line) { layouts.emplace_back(line); });
  if (layouts.size() != program.graph.nodes.size()) fail("not every value has a layout");
  for (const ValueId id : program.graph.ids()) {
    const std::string& line = layouts[static_cast<std::size_t>(id)];
    program.nodes.push_back(parse_node_layout(program, id, line, mesh));
  }
  return program;
}

}  // namespace meshwork
