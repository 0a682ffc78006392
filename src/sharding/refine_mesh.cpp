#include "sharding/refine_mesh.h"

#include <algorithm>
#include <set>

#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Extents of dimensions that are merged with a later one, of which each element is a group.
std::set<std::int64_t> groups_of(const Graph& graph) {
  std::set<std::int64_t> groups;
  for (const Node& node : graph.nodes) {
    if (is_leaf(node) || !node.op->same_elements) continue;
    const DimRule rule = rule_of(graph, node);
    const auto visit = [&](const DimRule::Operand& operand) {
      for (const DimRule::Dim& dim : operand) {
        if (dim.size() < 2) continue;
        const auto size = [&](int f) { return rule.factors[static_cast<std::size_t>(f)].size; };
        if (size(dim[0]) > 1 && size(dim[1]) > 1) groups.insert(size(dim[0]));
      }
    };
    visit(rule.output);
    for (const DimRule::Operand& input : rule.inputs) visit(input);
  }
  return groups;
}

/// Extents of groups that variables have along an axis which has a multiple of them of devices.
std::set<int> first_parts(const Graph& graph, const PinnedLayouts& pinned,
                          const std::set<std::int64_t>& groups, const Mesh& mesh, int axis) {
  const int devices = mesh.sizes[static_cast<std::size_t>(axis)];
  std::set<int> parts;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const Shape& shape = graph.type(graph.variables[i].value).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (pinned.variables[i].layout.dims[d] != std::vector<int>{axis}) continue;
      const bool is_fewer = shape[d] < devices && devices % shape[d] == 0;
      if (is_fewer && groups.contains(shape[d])) parts.insert(static_cast<int>(shape[d]));
    }
  }
  return parts;
}

/// [2, 4] of 8 devices: 2, 2, 2. Parts that are no multiples of those before are left out.
std::vector<int> sizes_of(const std::set<int>& parts, int devices) {
  std::vector<int> sizes;
  int before = 1;
  for (const int part : parts) {
    if (part % before != 0) continue;
    sizes.push_back(part / before);
    before = part;
  }
  sizes.push_back(devices / before);
  return sizes;
}

}  // namespace

Mesh refine_mesh(const Graph& graph, const config::Config& config, Mesh mesh) {
  const PinnedLayouts pinned = pin_layouts(graph, config, mesh);
  const std::set<std::int64_t> groups = groups_of(graph);
  // From the last axis on, for those before keep their numbers.
  for (int axis = static_cast<int>(mesh.sizes.size()); axis-- > 0;) {
    const std::set<int> parts = first_parts(graph, pinned, groups, mesh, axis);
    if (parts.empty()) continue;
    mesh = split_axis(mesh, axis, sizes_of(parts, mesh.sizes[static_cast<std::size_t>(axis)]));
  }
  return mesh;
}

Layout without_empty_parts(Layout layout, const Shape& shape, const Mesh& mesh) {
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    std::vector<int> kept;
    for (const int axis : layout.dims[d]) {
      const bool is_later = mesh.parts_of(mesh.whole(axis)).front() != axis;
      const bool are_single = mesh.parts(kept) == shape[d];
      if (!are_single || (!is_later && shape[d] > 1)) kept.push_back(axis);
    }
    layout.dims[d] = kept;
  }
  return layout;
}

}  // namespace meshwork
