#include "sharding/wanted_parts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "graph/readers.h"
#include "sharding/reshard.h"

namespace meshwork {
namespace {

class Wanted {
 public:
  Wanted(LaidOut& program, const Mesh& mesh)
      : program_(program),
        graph_(program.graph),
        mesh_(mesh),
        readers_(program.graph),
        may_be_pinned_(program.graph.nodes.size(), false) {
    for (const NamedValue& output : graph_.layer_outputs) may_be_pinned_[output.value] = true;
    for (const Update& gradient : graph_.gradients) may_be_pinned_[gradient.value] = true;
  }

  /// From readers to what they read, so that a whole chain is cut.
  void run() {
    for (ValueId id = graph_.end() - 1; id >= 0; --id) {
      if (!may_change(id)) continue;
      const std::optional<Layout> wanted = wanted_by_all(id);
      if (!wanted || !is_free(id, program_.layouts[id].output, *wanted)) continue;
      NodeLayout cut = lay_out_for(graph_, graph_.node(id), *wanted, mesh_);
      if (cut.computed == *wanted && costs_no_more(id, cut)) {
        cut.output = *wanted;
        program_.layouts[id] = std::move(cut);
      }
    }
  }

 private:
  bool may_change(ValueId id) const {
    const Node& node = graph_.node(id);
    const NodeLayout& layout = program_.layouts[id];
    const bool is_by_parts =
        node.op->any_part || (node.op->elementwise && node.phase != Phase::kForward);
    return is_by_parts && !may_be_pinned_[id] && !layout.any_layout &&
           layout.computed == layout.output && layout.output.partial.empty() &&
           readers_.are_nodes(id);
  }

  std::optional<Layout> wanted_by_all(ValueId id) const {
    std::optional<Layout> wanted;
    for (const ValueId reader : readers_.nodes(id)) {
      const std::vector<ValueId>& inputs = graph_.node(reader).inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] != id) continue;
        if (program_.layouts[reader].any_layout) return std::nullopt;
        const Layout& mine = program_.layouts[reader].inputs[k];
        if (wanted && !(*wanted == mine)) return std::nullopt;
        wanted = mine;
      }
    }
    return wanted;
  }

  /// Whether a value is in another layout, of which the wanted one is cut without sending.
  bool is_free(ValueId id, const Layout& from, const Layout& to) const {
    return !(from == to) && to.partial.empty() &&
           reshard_bytes(from, to, graph_.type(id), mesh_) == 0;
  }

  /// Whether no operand takes more bytes to be brought as it is then wanted.
  bool costs_no_more(ValueId id, const NodeLayout& cut) const {
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const NodeLayout& operand = program_.layouts[inputs[k]];
      if (operand.any_layout) continue;
      const auto bytes_to = [&](const Layout& layout) {
        return reshard_bytes(operand.output, layout, graph_.type(inputs[k]), mesh_);
      };
      if (bytes_to(cut.inputs[k]) > bytes_to(program_.layouts[id].inputs[k])) return false;
    }
    return true;
  }

  LaidOut& program_;
  const Graph& graph_;
  const Mesh& mesh_;
  Readers readers_;
  ValueMap<bool> may_be_pinned_;
};

}  // namespace

void compute_wanted_parts(LaidOut& program, const Mesh& mesh) { Wanted(program, mesh).run(); }

}  // namespace meshwork
