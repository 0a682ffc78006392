#include "sharding/propagate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/check.h"
#include "graph/builder.h"
#include "graph/flops.h"
#include "graph/known_nodes.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "sharding/choice.h"
#include "sharding/factor_axes.h"
#include "sharding/reshard.h"

namespace meshwork {
namespace {

class Walk {
 public:
  Walk(const Graph& graph, const PinnedLayouts& pinned, const Mesh& mesh,
       const PropagateOptions& options)
      : source_(graph),
        mesh_(mesh),
        options_(options),
        builder_(result_.graph),
        renamed_(graph.nodes.size(), kNoValue),
        pins_(graph.nodes.size()) {
    for (const auto& [value, layout] : pinned.values) pin(value, layout);
    for (std::size_t i = 0; i < graph.variables.size(); ++i) {
      pin(graph.variables[i].value, pinned.variables[i].layout);
    }
    // After all variables: one may take the value of another, which stays where it is.
    std::map<ValueId, ValueId> new_value;
    for (const Update& update : graph.updates) new_value.emplace(update.variable, update.value);
    for (std::size_t i = 0; i < graph.variables.size(); ++i) {
      const auto update = new_value.find(graph.variables[i].value);
      if (update != new_value.end()) pin(update->second, pinned.variables[i].layout);
    }
  }

  LaidOut run() {
    for (const ValueId id : source_.ids()) renamed_[id] = visit(id);
    remap_names(source_, renamed_, result_.graph);
    return std::move(result_);
  }

 private:
  void pin(ValueId value, const Layout& layout) {
    if (!pins_[value]) pins_[value] = layout;
  }

  ValueId visit(ValueId id) {
    Node node = remap(source_.node(id), renamed_);
    const Layout* pin = pins_[id] ? &*pins_[id] : nullptr;
    if (!arrives_split(node, pin)) return emit(std::move(node), pin);
    const ValueId first = result_.graph.end();
    builder_.set_path(node.path);
    builder_.set_phase(node.phase);
    // The greatest logit is for the loss and for the accuracy.
    const SharedScope shared(builder_);
    const ValueId value = node.op->split(builder_, node.inputs, node.attrs);
    for (const ValueId k : ValueRange(first, result_.graph.end())) {
      lay_out_node(k, k == value ? pin : nullptr);
    }
    return value;
  }

  ValueId emit(Node node, const Layout* pin) {
    const ValueId id = result_.graph.nodes.append(std::move(node));
    lay_out_node(id, pin);
    return id;
  }

  /// Whether a `[c]` factor of the op comes sharded and the op has a split form.
  bool arrives_split(const Node& node, const Layout* pin) {
    if (node.op->split == nullptr) return false;
    const DimRule& rule = known_.rule(result_.graph, node);
    const auto shards_whole = [&](const DimRule::Operand& operand, const Layout& layout) {
      for (std::size_t d = 0; d < layout.dims.size(); ++d) {
        const int factor = DimRule::major_factor(operand, d);
        if (factor >= 0 && !layout.dims[d].empty() &&
            rule.factors[static_cast<std::size_t>(factor)].whole)
          return true;
      }
      return false;
    };
    if (pin != nullptr && shards_whole(rule.output, *pin)) return true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (shards_whole(rule.inputs[i], result_.layouts[node.inputs[i]].output)) return true;
    }
    return false;
  }

  void lay_out_node(ValueId id, const Layout* pin) {
    const Node& node = result_.graph.node(id);
    materialized_.push_back({});
    if (is_leaf(node)) {
      const Layout layout = pin != nullptr ? *pin : replicated(node.type.shape.size());
      result_.layouts.push_back({.inputs = {}, .computed = layout, .output = layout});
      return;
    }
    const bool any_layout = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return result_.layouts[input].any_layout || is_counter(input);
    });
    if (any_layout && pin == nullptr) {
      const Layout layout = replicated(node.type.shape.size());
      NodeLayout any{.inputs = {}, .computed = layout, .output = layout, .any_layout = true};
      for (const ValueId input : node.inputs) {
        any.inputs.push_back(replicated(result_.graph.type(input).shape.size()));
      }
      result_.layouts.push_back(std::move(any));
      return;
    }
    result_.layouts.push_back(cheapest(node, pin));
    remember_reshards(id, pin != nullptr);
    if (node.gradient_of != kNoValue && !result_.layouts[id].output.partial.empty()) {
      partial_gradients_.insert(node.gradient_of);
    }
  }

  /// Scalars that every device is given alike: the step, the learning rate.
  bool is_counter(ValueId id) const {
    const Node& node = result_.graph.node(id);
    return node.op->leaf == Leaf::kInput && node.type.shape.empty();
  }

  Site site_of(const Node& node, const Layout* pin) {
    Site site{.graph = result_.graph,
              .node = node,
              .rule = known_.rule(result_.graph, node),
              .inputs = {},
              .pin = pin,
              .mesh = mesh_,
              .like = nullptr};
    if (node.gradient_of != kNoValue) site.like = &result_.layouts[node.gradient_of].output;
    // A gradient that others are to be added to before they are reduced stays partial as they are.
    site.may_gather = node.op->adds_rows && num_bytes(node.type) > options_.target.small_message &&
                      !partial_gradients_.contains(node.gradient_of);
    for (const ValueId input : node.inputs) {
      site.inputs.push_back({result_.layouts[input].any_layout, available(input, node.phase)});
    }
    return site;
  }

  /// Turns to the next combination of choices, as the digits of a number, the last axis fastest;
  /// false behind the last one.
  static bool turn_on(const std::vector<std::vector<AxisUse>>& choices,
                      std::vector<std::size_t>& turn) {
    for (std::size_t axis = choices.size(); axis-- > 0;) {
      turn[axis] = (turn[axis] + 1) % choices[axis].size();
      if (turn[axis] != 0) return true;
    }
    return false;
  }

  NodeLayout cheapest(const Node& node, const Layout* pin) {
    const Site site = site_of(node, pin);
    const auto choices = axis_choices(site);
    std::vector<std::size_t> turn(choices.size(), 0);
    std::vector<AxisUse> uses(choices.size());
    std::optional<NodeLayout> best;
    double best_cost = std::numeric_limits<double>::infinity();
    do {
      for (std::size_t axis = 0; axis < choices.size(); ++axis) {
        uses[axis] = choices[axis][turn[axis]];
      }
      NodeLayout candidate;
      if (!lay_out(site, uses, candidate)) continue;
      const double now = cost(site, uses, candidate);
      if (now >= best_cost) continue;
      best_cost = now;
      best = std::move(candidate);
    } while (turn_on(choices, turn));
    if (best) return *best;
    // Only the joint use of several axes was illegal: use none.
    NodeLayout none;
    MW_CHECK(lay_out(site, std::vector<AxisUse>(choices.size()), none));
    return none;
  }

  double cost(const Site& site, const std::vector<AxisUse>& uses, const NodeLayout& layout) const {
    double bytes = 0;
    for (std::size_t i = 0; i < site.inputs.size(); ++i) {
      if (site.inputs[i].any_layout) continue;
      const TensorType& type = site.graph.type(site.node.inputs[i]);
      bytes += nearest_layout(site.inputs[i].available, layout.inputs[i], type, mesh_).bytes;
    }
    const TensorType& type = site.node.type;
    Layout settled = layout.output;
    if (site.pin == nullptr) settled.partial.clear();
    bytes += reshard_bytes(layout.computed, settled, type, mesh_);

    double work = flops_of(site.graph, site.node);
    for (std::size_t axis = 0; axis < uses.size(); ++axis) {
      if (uses[axis].kind == AxisUse::Kind::kFactor) work /= mesh_.sizes[axis];
    }
    return bytes + work / options_.target.flops_per_byte;
  }

  /// The layouts in which a value is there in a phase, first the one it is kept in.
  std::vector<Layout> available(ValueId value, Phase phase) const {
    std::vector<Layout> layouts{result_.layouts[value].output};
    for (const auto& [layout, since] : materialized_[value]) {
      if (since == phase || may_keep(value, layout)) layouts.push_back(layout);
    }
    return layouts;
  }

  /// A gathered weight is freed after its use in a phase, unless memory is plenty. A part of what a
  /// device keeps of it takes nothing.
  bool may_keep(ValueId value, const Layout& layout) const {
    return options_.keep_gathered || !is_weight(result_.graph, value) || is_cut(value, layout);
  }

  /// Whether a value is brought into a layout without sending.
  bool is_cut(ValueId value, const Layout& layout) const {
    const TensorType& type = result_.graph.type(value);
    return reshard_bytes(result_.layouts[value].output, layout, type, mesh_) == 0;
  }

  /// A part that is cut for a value that is pinned, such as a gradient as its optimizer wants it,
  /// is no reason to go on with parts.
  void remember_reshards(ValueId id, bool is_pinned) {
    const Node& node = result_.graph.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const Layout& wanted = result_.layouts[id].inputs[i];
      if (is_pinned && is_cut(input, wanted)) continue;
      const auto known = available(input, node.phase);
      if (std::find(known.begin(), known.end(), wanted) == known.end()) {
        materialized_[input].emplace_back(wanted, node.phase);
      }
    }
  }

  const Graph& source_;
  const Mesh& mesh_;
  const PropagateOptions& options_;
  LaidOut result_;
  GraphBuilder builder_;
  Renaming renamed_;
  ValueMap<std::optional<Layout>> pins_;
  KnownNodes known_;
  /// Layouts in which a value has been wanted before, and in which phase.
  ValueMap<std::vector<std::pair<Layout, Phase>>> materialized_;
  std::set<ValueId> partial_gradients_;  ///< values of which a part of the gradient is partial
};

}  // namespace

LaidOut propagate(const Graph& graph, const PinnedLayouts& pinned, const Mesh& mesh,
                  const PropagateOptions& options) {
  return Walk(graph, pinned, mesh, options).run();
}

NodeLayout lay_out_for(const Graph& graph, const Node& node, const Layout& wanted,
                       const Mesh& mesh) {
  const DimRule rule = rule_of(graph, node);
  Site site{.graph = graph, .node = node, .rule = rule, .inputs = {}, .pin = &wanted, .mesh = mesh};
  for (const ValueId input : node.inputs) {
    site.inputs.push_back({true, {replicated(graph.type(input).shape.size())}});
  }
  std::vector<AxisUse> uses(mesh.sizes.size());
  for (std::size_t d = 0; d < wanted.dims.size(); ++d) {
    FactorAxes axes(rule.factors.size());
    add_axes(rule, rule.output[d], wanted.dims[d], mesh, axes);
    // A tile with a halo is cut out of the whole.
    if (has_halo(wanted, d) || !is_legal(rule, axes, mesh)) continue;
    for (const int factor : rule.output[d]) {
      for (const int axis : axes[static_cast<std::size_t>(factor)]) {
        uses[static_cast<std::size_t>(axis)] = {.kind = AxisUse::Kind::kFactor, .factor = factor};
      }
    }
  }
  NodeLayout layout;
  MW_CHECK(lay_out(site, uses, layout));
  return layout;
}

}  // namespace meshwork
