#include "sharding/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"

namespace meshwork {
namespace {

std::string axis_names(const std::vector<int>& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const int axis : axes) names.push_back(mesh.names[static_cast<std::size_t>(axis)]);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<int> parse_axes(const std::string& text, const Mesh& mesh) {
  std::vector<int> axes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(", ", begin), text.size());
    if (end > begin) {
      axes.push_back(mesh.axis(text.substr(begin, end - begin)));
      MW_CHECK(axes.back() >= 0, "axis in '{}'", text);
    }
    begin = end + 1;
  }
  return axes;
}

}  // namespace

Layout replicated(std::size_t rank) {
  Layout layout;
  layout.dims.resize(rank);
  return layout;
}

std::string to_string(const Layout& layout, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (const auto& axes : layout.dims) {
    dims.push_back(axes.empty()       ? "null"
                   : axes.size() == 1 ? axis_names(axes, mesh)
                                      : fmt::format("[{}]", axis_names(axes, mesh)));
  }
  std::string text = fmt::format("[{}]", fmt::join(dims, ", "));
  if (!layout.partial.empty()) {
    text += fmt::format(" partial{}({})", layout.reduction == Reduction::kMax ? "_max" : "",
                        axis_names(layout.partial, mesh));
  }
  return text;
}

Layout parse_layout(const std::string& text, const Mesh& mesh) {
  Layout layout;
  std::size_t position = 1;
  while (text[position] != ']') {
    if (text[position] == ',' || text[position] == ' ') {
      ++position;
      continue;
    }
    const bool list = text[position] == '[';
    const std::size_t begin = position + (list ? 1 : 0);
    const std::size_t end = text.find_first_of(list ? "]" : ",]", begin);
    MW_CHECK(end != std::string::npos, "layout '{}'", text);
    const std::string entry = text.substr(begin, end - begin);
    layout.dims.push_back(entry == "null" ? std::vector<int>{} : parse_axes(entry, mesh));
    position = end + (list ? 1 : 0);
  }
  if (const std::size_t partial = text.find("partial"); partial != std::string::npos) {
    layout.reduction =
        text.compare(partial, 11, "partial_max") == 0 ? Reduction::kMax : Reduction::kSum;
    const std::size_t open = text.find('(', partial);
    layout.partial = parse_axes(text.substr(open + 1, text.find(')', open) - open - 1), mesh);
  }
  return layout;
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

Block block_of(std::int64_t size, const std::vector<int>& axes, const Mesh& mesh, int device) {
  const std::vector<int> position = mesh.coordinates(device);
  Block block{0, size};
  for (const int axis : axes) {
    const std::int64_t parts = mesh.sizes[static_cast<std::size_t>(axis)];
    const std::int64_t index = position[static_cast<std::size_t>(axis)];
    const std::int64_t base = block.size / parts;
    const std::int64_t longer = block.size % parts;  // the first parts have one more
    block.offset += index * base + std::min(index, longer);
    block.size = base + (index < longer ? 1 : 0);
  }
  return block;
}

Shape local_shape(const Shape& shape, const Layout& layout, const Mesh& mesh, int device) {
  Shape local;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    local.push_back(block_of(shape[d], layout.dims[d], mesh, device).size);
  }
  return local;
}

Window local_window(const Shape& shape, const Layout& layout, const Mesh& mesh, int device) {
  Window window{shape, {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    window.offset.push_back(block_of(shape[d], layout.dims[d], mesh, device).offset);
  }
  return window;
}

double mean_local_elements(const Shape& shape, const Layout& layout, const Mesh& mesh) {
  auto elements = static_cast<double>(num_elements(shape));
  for (const auto& axes : layout.dims) elements /= mesh.parts(axes);
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
