#include <algorithm>
#include <optional>
#include <vector>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  return args.inputs[0];
}

class Inserter {
 public:
  Inserter(const LaidOut& source, const Mesh& mesh, const PropagateOptions& options)
      : source_(source),
        mesh_(mesh),
        options_(options),
        made_(source.graph.nodes.size()),
        first_(source.graph.nodes.size(), kNoValue) {}

  Partitioned run() {
    const Graph& graph = source_.graph;
    for (const ValueId id : graph.ids()) {
      const NodeLayout& layout = source_.layouts[id];
      if (!layout.any_layout) make(id, layout);
    }
    Graph& result = result_.graph;
    remap_names(graph, first_, result);
    for (std::size_t i = 0; i < graph.updates.size(); ++i) {
      const Layout layout = result_.layouts[result.updates[i].variable];  // want() adds to them
      result.updates[i].value = want(graph.updates[i].value, layout, Phase::kUpdate);
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      Layout layout = source_.layouts[graph.outputs[i].value].output;
      layout.partial.clear();
      result.outputs[i].value = want(graph.outputs[i].value, layout, Phase::kUpdate);
    }
    return std::move(result_);
  }

 private:
  /// A value in one of the layouts in which it is there, and the phase in which it came into it.
  struct Made {
    Layout layout;
    Phase phase;
    ValueId value;
  };

  ValueId append(Node node, Layout layout) {
    result_.layouts.push_back(std::move(layout));
    return result_.graph.nodes.append(std::move(node));
  }

  ValueId append_reshard(ValueId value, const Node& like, const Layout& to, Phase phase) {
    if (result_.layouts[value] == to) return value;
    return append({.op = &kReshard,
                   .inputs = {value},
                   .attrs = {},
                   .type = like.type,
                   .path = like.path,
                   .phase = phase},
                  to);
  }

  /// Appends the node as it was laid out, with its operands as it wants them.
  ValueId make(ValueId id, const NodeLayout& layout) {
    const std::vector<ValueId>& inputs = source_.graph.node(id).inputs;
    Node node = remap(source_.graph.node(id), first_);
    // What is computed again shares with the backward pass what is moved for it.
    const Phase phase = node.phase == Phase::kRecompute ? Phase::kBackward : node.phase;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs[i] = want(inputs[i], layout.inputs[i], phase, &node);
    }
    ValueId value = append(node, layout.computed);
    value = append_reshard(value, node, layout.output, phase);
    add(id, {layout.output, phase, value});
    return value;
  }

  void add(ValueId id, Made made) {
    if (made_[id].empty()) first_[id] = made.value;
    made_[id].push_back(std::move(made));
  }

  /// The value of `id` in a layout; `user` is the node that wants it.
  ValueId want(ValueId id, const Layout& layout, Phase phase, const Node* user = nullptr) {
    const Node& node = source_.graph.node(id);
    const bool any_layout = source_.layouts[id].any_layout;
    const bool keep = any_layout || options_.keep_gathered || !is_weight(source_.graph, id);
    const std::vector<Made>& made = made_[id];
    std::vector<Layout> available;
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i > 0 && !keep && made[i].phase != phase) continue;
      if (made[i].layout == layout) return made[i].value;
      available.push_back(made[i].layout);
      values.push_back(made[i].value);
    }
    if (any_layout) {
      NodeLayout wanted = lay_out_for(source_.graph, node, layout, mesh_);
      wanted.output = layout;
      return make(id, wanted);
    }
    MW_CHECK(!made.empty(), "%{} is wanted before it is made", id);
    const Source source = nearest_layout(available, layout, node.type, mesh_);
    if (const auto anew = spread_anew(id, layout, source.bytes)) return make(id, *anew);
    // A reshard belongs to the layer that asks for it.
    Node like = node;
    if (user != nullptr) like.path = user->path;
    const ValueId value = append_reshard(values[source.index], like, layout, phase);
    add(id, {layout, phase, value});
    return value;
  }

  /// How a value that repeats a smaller one is made once more in the wanted layout, where that
  /// takes fewer bytes than to move what is there: the smaller one is moved instead.
  std::optional<NodeLayout> spread_anew(ValueId id, const Layout& layout, double bytes) {
    const Node& node = source_.graph.node(id);
    if (!node.op->elementwise || node.inputs.size() != 1 || bytes == 0) return std::nullopt;
    const ValueId operand = node.inputs[0];
    const TensorType& type = source_.graph.type(operand);
    if (num_elements(type.shape) >= num_elements(node.type.shape)) return std::nullopt;
    NodeLayout anew = lay_out_for(source_.graph, node, layout, mesh_);
    if (!(anew.computed == layout)) return std::nullopt;
    anew.output = layout;
    std::vector<Layout> available;
    for (const Made& made : made_[operand]) available.push_back(made.layout);
    const bool is_free = source_.layouts[operand].any_layout;
    if (!is_free && nearest_layout(available, anew.inputs[0], type, mesh_).bytes >= bytes) {
      return std::nullopt;
    }
    return anew;
  }

  const LaidOut& source_;
  const Mesh& mesh_;
  const PropagateOptions& options_;
  Partitioned result_;
  ValueMap<std::vector<Made>> made_;
  Renaming first_;  ///< to what was made of each value first
};

}  // namespace

const OpDef kReshard{
    .name = "reshard",
    .infer = infer,
    .linear = Linear::kJointly,
};

ValueId without_reshards(const Graph& graph, ValueId id) {
  while (graph.node(id).op == &kReshard) id = graph.node(id).inputs[0];
  return id;
}

Partitioned insert_reshards(const LaidOut& laid_out, const Mesh& mesh,
                            const PropagateOptions& options) {
  return Inserter(laid_out, mesh, options).run();
}

}  // namespace meshwork
