#include <algorithm>

#include "base/check.h"
#include "graph/op_def.h"
#include "sharding/layout_map.h"

namespace meshwork {
namespace {

std::vector<int> batch_axes(const config::Config& config, const Mesh& mesh) {
  std::vector<int> axes;
  for (const std::string& name : config.batch_axis) axes.push_back(mesh.axis(name));
  std::erase_if(axes, [&](int axis) {
    MW_CHECK(axis >= 0);
    return mesh.sizes[static_cast<std::size_t>(axis)] == 1;
  });
  return axes;
}

/// A pattern may be meant for an output (its last word is `output`) or for variables.
void pin_outputs(const Graph& graph, const LayoutMap& map, const Mesh& mesh,
                 PinnedLayouts& pinned) {
  for (const NamedValue& output : graph.layer_outputs) {
    const LayoutMatch match = map.find(output.name, graph.type(output.value).shape.size(), mesh);
    if (!match.rule) continue;
    pinned.output_rules.emplace_back(output.name, *match.rule);
    const auto same = std::find_if(pinned.values.begin(), pinned.values.end(),
                                   [&](const auto& pin) { return pin.first == output.value; });
    if (same == pinned.values.end()) {
      pinned.values.emplace_back(output.value, match.layout);
    } else {
      same->second = match.layout;
    }
  }
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

/// A gradient is wanted as the optimizer keeps its state, else as its variable: it is reduced, or
/// reduced and scattered, once, when it is complete.
void pin_gradients(const Graph& graph, PinnedLayouts& pinned) {
  for (const Update& gradient : graph.gradients) {
    const auto owner =
        std::find_if(graph.variables.begin(), graph.variables.end(),
                     [&](const Variable& v) { return v.value == gradient.variable; });
    MW_CHECK(owner != graph.variables.end());
    const auto slot = std::find_if(graph.variables.begin(), graph.variables.end(),
                                   [&](const Variable& v) { return v.slot_of == owner->path; });
    const auto chosen = slot != graph.variables.end() ? slot : owner;
    const auto i = static_cast<std::size_t>(chosen - graph.variables.begin());
    pinned.values.emplace_back(gradient.value, pinned.variables[i].layout);
  }
}

}  // namespace

PinnedLayouts pin_layouts(const Graph& graph, const config::Config& config, const Mesh& mesh) {
  const LayoutMap map = variable_map(config);
  const LayoutMap slots = slot_map(config);

  PinnedLayouts pinned;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op->name != "input" || node.type.shape.empty()) continue;
    Layout layout = replicated(node.type.shape.size());
    layout.dims[0] = batch_axes(config, mesh);
    pinned.values.emplace_back(id, std::move(layout));
  }
  pin_outputs(graph, map, mesh, pinned);

  std::vector<std::string> weights;
  for (const Variable& variable : graph.variables) {
    const std::size_t rank = graph.type(variable.value).shape.size();
    if (variable.slot_of.empty()) {
      const LayoutMatch match = map.find(variable.path, rank, mesh);
      pinned.variables.push_back({match.rule, match.layout});
      weights.push_back(variable.path);
      continue;
    }
    const LayoutMatch match = slots.find(variable.slot_of, rank, mesh);
    if (match.rule) {
      pinned.variables.push_back({match.rule, match.layout});
      continue;
    }
    const auto owner = std::find(weights.begin(), weights.end(), variable.slot_of);
    MW_CHECK(owner != weights.end(), "slot '{}' of no weight", variable.path);
    pinned.variables.push_back(pinned.variables[static_cast<std::size_t>(owner - weights.begin())]);
  }
  pin_gradients(graph, pinned);
  return pinned;
}

void check_rules_hit(const Graph& graph, const config::Config& config) {
  std::vector<std::string> weights;
  for (const Variable& variable : graph.variables) {
    if (variable.slot_of.empty()) weights.push_back(variable.path);
  }
  std::vector<std::string> paths = weights;
  for (const NamedValue& output : graph.layer_outputs) paths.push_back(output.name);
  variable_map(config).check_all_hit(paths);
  slot_map(config).check_all_hit(weights);
}

}  // namespace meshwork
