#include <algorithm>
#include <map>
#include <string_view>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "sharding/cache_layout.h"
#include "sharding/layout_map.h"
#include "sharding/refine_mesh.h"

namespace meshwork {
namespace {

std::vector<int> batch_axes(const config::Config& config, const Mesh& mesh) {
  std::vector<int> axes;
  for (const std::string& name : config.batch_axis) {
    const std::vector<int> parts = mesh.parts_of(name);
    MW_CHECK(!parts.empty(), "axis '{}'", name);
    axes.insert(axes.end(), parts.begin(), parts.end());
  }
  std::erase_if(axes, [&](int axis) { return mesh.sizes[static_cast<std::size_t>(axis)] == 1; });
  return axes;
}

const std::vector<config::LayoutRule>& variable_rules(const config::Config& config) {
  static const std::vector<config::LayoutRule> kNone;
  return config.strategy == config::Strategy::kModelParallel ? config.layout_map : kNone;
}

LayoutMap variable_map(const config::Config& config) {
  return LayoutMap(variable_rules(config), "layout_map");
}

LayoutMap slot_map(const config::Config& config) {
  return LayoutMap(config.optimizer_layout, "optimizer_layout");
}

/// What lays out variables and outputs: the layout map, and the layouts of single layers.
class Rules {
 public:
  Rules(const config::Config& config, const Mesh& mesh) : map_(variable_map(config)), mesh_(mesh) {
    for (const config::LayerSpec& layer : config.model.layers) {
      for (const config::LayoutRule& rule : layer.layouts) {
        own_.emplace(layer.path + "/" + rule.pattern, rule);
      }
    }
  }

  LayoutMatch find(const std::string& path, const Shape& shape) const {
    LayoutMatch match = find_whole(path, shape.size());
    match.layout = without_empty_parts(std::move(match.layout), shape, mesh_);
    return match;
  }

 private:
  LayoutMatch find_whole(const std::string& path, std::size_t rank) const {
    LayoutMatch match = map_.find(path, rank, mesh_);
    const auto own = own_.find(path);
    if (own == own_.end()) return match;
    config::LayoutRule rule = own->second;
    rule.pattern += "_layout";
    if (match.rule) {
      config::fail_at(rule.at,
                      "{}: '{}' is laid out by layout_map: '{}' at {}, too; keep one of them",
                      rule.pattern, path, match.rule->pattern, config::to_string(match.rule->at));
    }
    return layout_of(rule, rule.pattern, path, rank, mesh_);
  }

  LayoutMap map_;
  std::map<std::string, config::LayoutRule> own_;  ///< by path
  const Mesh& mesh_;
};

using PinnedValues = std::vector<std::pair<ValueId, Layout>>;

/// Whether a reshape adds or takes away a last dimension of one, if it does anything.
bool keeps_shape(Shape from, Shape to) {
  if (from.size() != to.size()) (from.size() < to.size() ? from : to).push_back(1);
  return from == to;
}

/// Whether the node makes a field of the data of what it reads: numbers, or labels as vectors.
bool makes_field(const Graph& graph, const Node& node) {
  if (node.op->field == FieldStep::kEncode) {
    return graph.node(node.inputs[0]).op->field == FieldStep::kRead;
  }
  return node.op->field == FieldStep::kRead;
}

/// The values behind a field of the data, from `value` back to the input of the program, in the
/// layouts in which every device reads just what it needs to have `value` in this one; empty if it
/// is no such value but for its type and a last dimension of one.
PinnedValues field_layouts(const Graph& graph, ValueId value, Layout layout) {
  PinnedValues found;
  while (true) {
    const Node& node = graph.node(value);
    layout.dims.resize(node.type.shape.size());
    const bool moves = node.op->same_elements;
    if (!moves) found.emplace_back(value, layout);
    if (node.op->leaf == Leaf::kInput) return found;
    if (moves && !keeps_shape(graph.type(node.inputs[0]).shape, node.type.shape)) return {};
    if (!moves && !makes_field(graph, node)) return {};
    value = node.inputs.back();  // of take_rows the rows
  }
}

void pin(ValueId value, const Layout& layout, PinnedLayouts& pinned) {
  const auto same = std::find_if(pinned.values.begin(), pinned.values.end(),
                                 [&](const auto& other) { return other.first == value; });
  if (same == pinned.values.end()) {
    pinned.values.emplace_back(value, layout);
  } else {
    same->second = layout;
  }
}

/// A pattern may be meant for an output (its last word is `output`) or for variables.
void pin_outputs(const Graph& graph, const Rules& rules, PinnedLayouts& pinned) {
  for (const NamedValue& output : graph.layer_outputs) {
    const LayoutMatch match = rules.find(output.name, graph.type(output.value).shape);
    if (!match.rule) continue;
    pinned.output_rules.emplace_back(output.name, *match.rule);
    pin(output.value, match.layout, pinned);
    for (const auto& [value, layout] : field_layouts(graph, output.value, match.layout)) {
      pin(value, layout, pinned);
    }
  }
}

/// Outputs of which every device wants all.
void pin_whole_outputs(const Graph& graph, PinnedLayouts& pinned) {
  for (const NamedValue& output : graph.outputs) {
    if (!output.whole) continue;
    pin(output.value, replicated(graph.type(output.value).shape.size()), pinned);
  }
}

/// Of a slot with the layout that its weight would have, or has: of the dimensions that it has.
Layout layout_of_slot(const Node& slot, const Layout& of_weight) {
  const Attr* dims = slot.attrs.find("dims");
  if (dims == nullptr) return of_weight;
  Layout layout;
  for (const std::int64_t dim : std::get<std::vector<std::int64_t>>(*dims)) {
    layout.dims.push_back(of_weight.dims.at(static_cast<std::size_t>(dim)));
  }
  return layout;
}

/// Of sums over the batch each device keeps its own, along the axes of the batch that shard
/// nothing.
void keep_partial(const Node& slot, const std::vector<int>& batch_axes, Layout& layout) {
  if (slot.attrs.find("sums") == nullptr) return;
  for (const int axis : batch_axes) {
    if (dim_of_axis(layout, axis) < 0) layout.partial.push_back(axis);
  }
  std::ranges::sort(layout.partial);
}

/// A gradient is wanted as the optimizer keeps its state, the first of all dimensions, else as its
/// variable: it is reduced, or reduced and scattered, once, when it is complete. One that the
/// backward pass goes on with is wanted as its variable in any case, and one that is added to a
/// slot as that is.
void pin_gradients(const Graph& graph, PinnedLayouts& pinned) {
  const Readers readers(graph);
  const auto goes_on = [&](ValueId gradient) {
    return std::ranges::any_of(readers.nodes(gradient), [&](ValueId reader) {
      return graph.node(reader).phase == Phase::kBackward;
    });
  };
  std::map<std::string_view, std::size_t> first_slot;  // by the path of its weight
  std::map<ValueId, std::size_t> variable_of;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& variable = graph.variables[i];
    variable_of[variable.value] = i;
    const bool is_whole = graph.node(variable.value).attrs.find("dims") == nullptr;
    if (!variable.slot_of.empty() && is_whole) first_slot.emplace(variable.slot_of, i);
  }
  for (const Update& gradient : graph.gradients) {
    const std::size_t owner = variable_of.at(gradient.variable);
    const auto slot = first_slot.find(graph.variables[owner].path);
    const bool is_slot = slot != first_slot.end() && !goes_on(gradient.value);
    Layout layout = pinned.variables[is_slot ? slot->second : owner].layout;
    if (graph.variables[owner].slot_of.empty()) layout.partial.clear();
    pinned.values.emplace_back(gradient.value, std::move(layout));
  }
}

}  // namespace

PinnedLayouts pin_layouts(const Graph& graph, const config::Config& config, const Mesh& mesh) {
  const Rules rules(config, mesh);
  const LayoutMap slots = slot_map(config);

  const std::vector<int> batch = batch_axes(config, mesh);
  PinnedLayouts pinned;
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (node.op->leaf != Leaf::kInput || node.type.shape.empty()) continue;
    Layout layout = replicated(node.type.shape.size());
    layout.dims[0] = batch;
    pinned.values.emplace_back(id, std::move(layout));
  }
  pin_outputs(graph, rules, pinned);
  pin_whole_outputs(graph, pinned);

  CacheLayouts caches(graph, pinned);
  std::map<std::string_view, std::size_t> weights;  // by path
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& variable = graph.variables[i];
    const Shape& shape = graph.type(variable.value).shape;
    if (variable.slot_of.empty()) {
      LayoutMatch match = rules.find(variable.path, shape);
      if (variable.is_cache && !match.rule) match.layout = caches.of(i);
      pinned.variables.push_back({match.rule, match.layout});
      weights.emplace(variable.path, i);
      continue;
    }
    const auto owner = weights.find(variable.slot_of);
    if (owner == weights.end()) {
      MW_CHECK(shape.empty(), "slot '{}' of no weight", variable.path);
      pinned.variables.push_back({{}, replicated(0)});
      continue;
    }
    const Shape& weight = graph.type(graph.variables[owner->second].value).shape;
    // The state of a scalar stays whole, so that '.*': [data] may be about all others.
    LayoutMatch match = weight.empty() ? LayoutMatch{{}, replicated(0)}
                                       : slots.find(variable.slot_of, weight.size(), mesh);
    if (match.rule) {
      match.layout = without_empty_parts(std::move(match.layout), weight, mesh);
    } else {
      match = pinned.variables[owner->second];
    }
    const Node& slot = graph.node(variable.value);
    match.layout = layout_of_slot(slot, match.layout);
    keep_partial(slot, batch, match.layout);
    pinned.variables.push_back(std::move(match));
  }
  pin_gradients(graph, pinned);
  return pinned;
}

std::vector<std::string> check_rules_hit(const Graph& graph, const config::Config& config,
                                         const std::map<std::string, std::string>& absent) {
  std::vector<std::string> weights;
  for (const Variable& variable : graph.variables) {
    if (variable.slot_of.empty()) weights.push_back(variable.path);
  }
  std::vector<std::string> paths = weights;
  for (const NamedValue& output : graph.layer_outputs) paths.push_back(output.name);
  auto notes = variable_map(config).check_all_hit(paths, absent, config.unmatched_rules);
  const auto of_slots = slot_map(config).check_all_hit(weights, absent, config.unmatched_rules);
  notes.insert(notes.end(), of_slots.begin(), of_slots.end());
  for (const config::LayerSpec& layer : config.model.layers) {
    for (const config::LayoutRule& rule : layer.layouts) {
      const auto found = absent.find(layer.path + "/" + rule.pattern);
      if (found == absent.end() || found->second.empty()) continue;
      notes.push_back(note_left_out(rule.at, rule.pattern + "_layout", {*found}));
    }
  }
  return notes;
}

}  // namespace meshwork
