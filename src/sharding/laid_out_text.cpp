#include "graph/text.h"
#include "sharding/propagate.h"

namespace meshwork {
namespace {

/// Whether a node wants all its operands as they are kept.
bool takes_all_as_kept(const LaidOut& program, ValueId id) {
  const std::vector<ValueId>& inputs = program.graph.node(id).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!(program.layouts[id].inputs[i] == program.layouts[inputs[i]].output)) return false;
  }
  return true;
}

}  // namespace

std::string print(const LaidOut& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    const NodeLayout& layout = program.layouts[id];
    std::string text = layout.any_layout ? "any" : to_string(layout.output, mesh);
    if (!(layout.computed == layout.output)) text += " from " + to_string(layout.computed, mesh);
    if (takes_all_as_kept(program, id)) return text;
    for (std::size_t i = 0; i < layout.inputs.size(); ++i) {
      text += (i == 0 ? " of " : " | ") + to_string(layout.inputs[i], mesh);
    }
    return text;
  });
}

}  // namespace meshwork
