#include "sharding/idle_axes.h"

#include <algorithm>
#include <set>

namespace meshwork {
namespace {

/// Names of axes of the configuration that some value is split along.
std::set<std::string> used_axes(const LaidOut& program, const Mesh& mesh) {
  std::set<std::string> used;
  for (const ValueId id : program.graph.ids()) {
    const NodeLayout& layout = program.layouts[id];
    if (layout.any_layout) continue;
    for (const auto& axes : layout.output.dims) {
      for (const int axis : axes) used.insert(mesh.whole(axis));
    }
  }
  return used;
}

}  // namespace

std::vector<std::string> idle_axes(const LaidOut& program, const Mesh& mesh) {
  const std::set<std::string> used = used_axes(program, mesh);
  std::vector<std::string> idle;
  for (const auto& [name, size] : stated_axes(mesh)) {
    if (size > 1 && !used.contains(name)) idle.push_back(name);
  }
  return idle;
}

}  // namespace meshwork
