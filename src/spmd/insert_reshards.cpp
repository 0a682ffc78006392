#include <algorithm>

#include "base/check.h"
#include "graph/op_def.h"
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
      : source_(source), mesh_(mesh), options_(options), made_(source.graph.nodes.size()) {}

  Partitioned run() {
    const Graph& graph = source_.graph;
    for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
      const NodeLayout& layout = source_.nodes[index(id)];
      if (!layout.flexible) make(id, layout);
    }
    Graph& result = result_.graph;
    result.variables = graph.variables;
    for (Variable& variable : result.variables) variable.value = first(variable.value);
    for (const Update& update : graph.updates) {
      const Layout layout = result_.layouts[index(first(update.variable))];  // want() adds to them
      result.updates.push_back(
          {first(update.variable), want(update.value, layout, Phase::kUpdate)});
    }
    for (const Update& gradient : graph.gradients) {
      if (!made_[index(gradient.value)].empty()) {
        result.gradients.push_back({first(gradient.variable), first(gradient.value)});
      }
    }
    for (const NamedValue& output : graph.outputs) {
      Layout layout = source_.nodes[index(output.value)].output;
      layout.partial.clear();
      result.outputs.push_back({output.name, want(output.value, layout, Phase::kUpdate)});
    }
    for (const NamedValue& output : graph.layer_outputs) {
      if (!made_[index(output.value)].empty()) {
        result.layer_outputs.push_back({output.name, first(output.value)});
      }
    }
    return std::move(result_);
  }

 private:
  struct Made {
    Layout layout;
    Phase phase;
    ValueId value;
  };

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  ValueId first(ValueId id) const {
    MW_CHECK(!made_[index(id)].empty(), "%{} was not made", id);
    return made_[index(id)].front().value;
  }

  ValueId append(Node node, Layout layout) {
    result_.graph.nodes.push_back(std::move(node));
    result_.layouts.push_back(std::move(layout));
    return static_cast<ValueId>(result_.graph.nodes.size()) - 1;
  }

  ValueId append_reshard(ValueId value, const Node& like, const Layout& to, Phase phase) {
    if (result_.layouts[index(value)] == to) return value;
    return append({.op = &kReshard,
                   .inputs = {value},
                   .attrs = {{"to", to_string(to, mesh_)}},
                   .type = like.type,
                   .path = like.path,
                   .phase = phase},
                  to);
  }

  /// Appends the node as it was laid out, with its operands as it wants them.
  ValueId make(ValueId id, const NodeLayout& layout) {
    Node node = source_.graph.node(id);
    // What is computed again shares with the backward pass what is moved for it.
    const Phase phase = node.phase == Phase::kAgain ? Phase::kBackward : node.phase;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      node.inputs[i] = want(node.inputs[i], layout.inputs[i], phase, &node);
    }
    ValueId value = append(node, layout.computed);
    value = append_reshard(value, node, layout.output, phase);
    made_[index(id)].push_back({layout.output, phase, value});
    return value;
  }

  /// The value of `id` in a layout; `user` is the node that wants it.
  ValueId want(ValueId id, const Layout& layout, Phase phase, const Node* user = nullptr) {
    const Node& node = source_.graph.node(id);
    const bool flexible = source_.nodes[index(id)].flexible;
    const bool keep = flexible || options_.keep_gathered || node.op->name != "variable";
    std::vector<Made>& made = made_[index(id)];
    std::vector<Layout> available;
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i > 0 && !keep && made[i].phase != phase) continue;
      if (made[i].layout == layout) return made[i].value;
      available.push_back(made[i].layout);
      values.push_back(made[i].value);
    }
    if (flexible) {
      NodeLayout wanted = lay_out_for(source_.graph, node, layout, mesh_);
      wanted.output = layout;
      return make(id, wanted);
    }
    MW_CHECK(!made.empty(), "%{} is wanted before it is made", id);
    // A reshard belongs to the layer that asks for it.
    Node like = node;
    if (user != nullptr) like.path = user->path;
    const Source source = nearest_layout(available, layout, node.type, mesh_);
    const ValueId value = append_reshard(values[source.index], like, layout, phase);
    made.push_back({layout, phase, value});
    return value;
  }

  const LaidOut& source_;
  const Mesh& mesh_;
  const PropagateOptions& options_;
  Partitioned result_;
  std::vector<std::vector<Made>> made_;
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
