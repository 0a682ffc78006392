#include "spmd/device_kinds.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace meshwork {
DeviceKinds::DeviceKinds(const Partitioned& program, const Mesh& mesh)
    : program_(program), mesh_(mesh) {
  using Way = std::tuple<std::int64_t, std::vector<int>, std::vector<Interval>>;
  std::set<Way> known;
  for (const ValueId id : program.graph.ids()) {
    const Shape& shape = program.graph.type(id).shape;
    const Layout& layout = program.layouts[id];
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (layout.dims[d].empty()) continue;
      const auto halo = has_halo(layout, d) ? layout.halos[d] : std::vector<Interval>();
      const bool is_new = known.emplace(shape[d], layout.dims[d], halo).second;
      if (is_new) divided_.push_back({id, d});
    }
    const auto step = program.steps.find(id);
    const bool has_step = step != program.steps.end();
    if (!has_step || step->second.kind != StepKind::kHaloExchange) continue;
    halos_.push_back(id);
    const auto& axes = layout.dims[static_cast<std::size_t>(step->second.dim)];
    tiled_.insert(axes.begin(), axes.end());
  }
}

Interval DeviceKinds::interval(const Divided& divided, int device) const {
  return interval_of(program_.graph.type(divided.value).shape, program_.layouts[divided.value],
                     divided.dim, mesh_, device);
}

/// What goes out to the others and comes from them.
void DeviceKinds::add_halo(ValueId id, int device, std::vector<std::int64_t>& kind) const {
  const ReshardStep& step = program_.steps.at(id);
  const auto dim = static_cast<std::size_t>(step.dim);
  const Divided from{program_.graph.node(id).inputs[0], dim};
  const Divided to{id, dim};
  const Interval mine = interval(from, device);
  const Interval wanted = interval(to, device);
  kind.push_back(mine.begin - wanted.begin);
  for (const int member : mesh_.group(step.axes, device)) {
    const std::int64_t out = intersection(interval(to, member), mine).size();
    const std::int64_t in = intersection(wanted, interval(from, member)).size();
    if (out > 0 || in > 0) kind.insert(kind.end(), {out, in});
  }
  kind.push_back(-1);
}

std::vector<std::int64_t> DeviceKinds::kind_of(int device) const {
  std::vector<std::int64_t> kind;
  for (const Divided& divided : divided_) {
    const Interval part = interval(divided, device);
    const std::int64_t extent = program_.graph.type(divided.value).shape[divided.dim];
    kind.push_back(part.size());
    const auto& axes = program_.layouts[divided.value].dims[divided.dim];
    if (std::ranges::none_of(axes, [&](int axis) { return tiled_.contains(axis); })) continue;
    kind.insert(kind.end(), {std::int64_t{part.begin == 0}, std::int64_t{part.end == extent}});
  }
  for (const ValueId id : halos_) add_halo(id, device, kind);
  return kind;
}

}  // namespace meshwork
