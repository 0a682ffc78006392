#include "sharding/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/join.h"

namespace meshwork {
namespace {

/// Names of axes; all parts of one together have its name.
std::vector<std::string> axis_names(const std::vector<int>& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (auto at = axes.begin(); at != axes.end();) {
    const std::vector<int> whole = mesh.parts_of(mesh.whole(*at));
    const auto count = static_cast<std::ptrdiff_t>(whole.size());
    const bool is_whole =
        axes.end() - at >= count && std::equal(whole.begin(), whole.end(), at, at + count);
    names.push_back(is_whole ? mesh.whole(*at) : mesh.names[static_cast<std::size_t>(*at)]);
    at += is_whole ? count : 1;
  }
  return names;
}

std::string halo_text(const std::vector<Interval>& intervals) {
  std::vector<std::string> parts;
  for (const Interval& interval : intervals) {
    parts.push_back(fmt::format("{}:{}", interval.begin, interval.end));
  }
  return fmt::format("{{{}}}", join(parts, " "));
}

}  // namespace

Layout replicated(std::size_t rank) {
  Layout layout;
  layout.dims.resize(rank);
  return layout;
}

std::string entry_text(const std::vector<std::string>& axes) {
  if (axes.empty()) return "null";
  return axes.size() == 1 ? axes.front() : fmt::format("[{}]", join(axes, ", "));
}

std::string to_string(const Layout& layout, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    const std::vector<std::string> axes = axis_names(layout.dims[d], mesh);
    dims.push_back(entry_text(axes));
    if (has_halo(layout, d)) dims.back() += halo_text(layout.halos[d]);
  }
  std::string text = fmt::format("[{}]", join(dims, ", "));
  if (!layout.partial.empty()) {
    text += fmt::format(" partial{}({})", layout.reduction == Reduction::kMax ? "_max" : "",
                        join(axis_names(layout.partial, mesh), ", "));
  }
  return text;
}

int dim_of_axis(const Layout& layout, int axis) {
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    const auto& axes = layout.dims[d];
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return static_cast<int>(d);
  }
  return -1;
}

bool is_partial(const Layout& layout, int axis) {
  return std::find(layout.partial.begin(), layout.partial.end(), axis) != layout.partial.end();
}

namespace {

/// Part number `index` of `parts` balanced parts; the first ones have one more.
Interval part_of_block(const Interval& block, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = block.size() / parts;
  const std::int64_t longer = block.size() % parts;
  const std::int64_t begin = block.begin + index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

}  // namespace

Interval block_of(std::int64_t size, const std::vector<int>& axes, const Mesh& mesh, int device) {
  const std::vector<int> position = mesh.coordinates(device);
  Interval block{0, size};
  for (const int axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    block = part_of_block(block, mesh.sizes[a], position[a]);
  }
  return block;
}

std::vector<Interval> blocks_of(std::int64_t size, const std::vector<int>& axes, const Mesh& mesh) {
  std::vector<Interval> blocks{{0, size}};
  for (const int axis : axes) {
    const std::int64_t parts = mesh.sizes[static_cast<std::size_t>(axis)];
    std::vector<Interval> smaller;
    for (const Interval& block : blocks) {
      for (std::int64_t i = 0; i < parts; ++i) smaller.push_back(part_of_block(block, parts, i));
    }
    blocks = std::move(smaller);
  }
  return blocks;
}

int part_of(const std::vector<int>& axes, const Mesh& mesh, int device) {
  const std::vector<int> position = mesh.coordinates(device);
  int part = 0;
  for (const int axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    part = part * static_cast<int>(mesh.sizes[a]) + position[a];
  }
  return part;
}

bool has_halo(const Layout& layout, std::size_t dim) {
  return dim < layout.halos.size() && !layout.halos[dim].empty();
}

void set_halo(Layout& layout, std::size_t dim, std::vector<Interval> intervals) {
  layout.halos.resize(layout.dims.size());
  layout.halos[dim] = std::move(intervals);
  const bool any = std::any_of(layout.halos.begin(), layout.halos.end(),
                               [](const auto& halo) { return !halo.empty(); });
  if (!any) layout.halos.clear();
}

Layout without_halos(const Layout& layout) {
  Layout plain = layout;
  plain.halos.clear();
  return plain;
}

std::vector<Interval> halo_of(const Reach& reach, std::int64_t size, std::int64_t extent,
                              const std::vector<int>& axes, const Mesh& mesh) {
  const std::vector<Interval> results = blocks_of(size, axes, mesh);
  const std::vector<Interval> blocks = blocks_of(extent, axes, mesh);
  std::vector<Interval> halo;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Interval needed = reach.of(results[i], extent);
    halo.push_back(contains(blocks[i], needed) ? blocks[i] : needed);
  }
  if (halo == blocks) halo.clear();
  return halo;
}

Interval interval_of(const Shape& shape, const Layout& layout, std::size_t dim, const Mesh& mesh,
                     int device) {
  if (has_halo(layout, dim)) {
    return layout.halos[dim][static_cast<std::size_t>(part_of(layout.dims[dim], mesh, device))];
  }
  return block_of(shape[dim], layout.dims[dim], mesh, device);
}

Shape local_shape(const Shape& shape, const Layout& layout, const Mesh& mesh, int device) {
  Shape local;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    local.push_back(interval_of(shape, layout, d, mesh, device).size());
  }
  return local;
}

Region local_region(const Shape& shape, const Layout& layout, const Mesh& mesh, int device) {
  Region region{shape, {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    region.offset.push_back(interval_of(shape, layout, d, mesh, device).begin);
  }
  return region;
}

double mean_local_elements(const Shape& shape, const Layout& layout, const Mesh& mesh) {
  double elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    double extent = static_cast<double>(shape[d]);
    if (has_halo(layout, d)) {
      extent = 0;
      for (const Interval& part : layout.halos[d]) extent += static_cast<double>(part.size());
    }
    elements *= extent / static_cast<double>(mesh.parts(layout.dims[d]));
  }
  return elements;
}

bool is_first_replica(const Layout& layout, const Mesh& mesh, int device) {
  const std::vector<int> position = mesh.coordinates(device);
  for (int axis = 0; axis < static_cast<int>(mesh.sizes.size()); ++axis) {
    if (dim_of_axis(layout, axis) < 0 && position[static_cast<std::size_t>(axis)] != 0)
      return false;
  }
  return true;
}

}  // namespace meshwork
