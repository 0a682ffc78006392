#include "sharding/mesh.h"

#include <fmt/format.h>

#include "base/check.h"

namespace meshwork {

int Mesh::num_devices() const {
  int count = 1;
  for (const int size : sizes) count *= size;
  return count;
}

const std::string& Mesh::whole(int axis) const {
  return (wholes.empty() ? names : wholes)[static_cast<std::size_t>(axis)];
}

std::vector<int> Mesh::parts_of(std::string_view name) const {
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis) {
    if (whole(axis) == name) axes.push_back(axis);
  }
  return axes;
}

std::vector<std::string> Mesh::axis_names(std::span<const int> axes) const {
  std::vector<std::string> result;
  for (const int axis : axes) result.push_back(names[static_cast<std::size_t>(axis)]);
  return result;
}

int Mesh::parts(std::span<const int> axes) const {
  int count = 1;
  for (const int axis : axes) count *= sizes[static_cast<std::size_t>(axis)];
  return count;
}

std::vector<int> Mesh::coordinates(int device) const {
  int position = positions.empty() ? device : positions[static_cast<std::size_t>(device)];
  std::vector<int> coordinates(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    coordinates[i] = position % sizes[i];
    position /= sizes[i];
  }
  return coordinates;
}

int Mesh::device_at(std::span<const int> coordinates) const {
  int position = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) position = position * sizes[i] + coordinates[i];
  return devices.empty() ? position : devices[static_cast<std::size_t>(position)];
}

std::vector<int> Mesh::group(std::span<const int> axes, int device) const {
  std::vector<int> position = coordinates(device);
  std::vector<int> members;
  const int count = parts(axes);
  for (int part = 0; part < count; ++part) {
    int rest = part;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const auto axis = static_cast<std::size_t>(axes[i]);
      position[axis] = rest % sizes[axis];
      rest /= sizes[axis];
    }
    members.push_back(device_at(position));
  }
  return members;
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (const auto& [name, size] : stated_axes(mesh)) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}={}", name, size);
  }
  return text;
}

std::vector<std::pair<std::string, int>> stated_axes(const Mesh& mesh) {
  std::vector<std::pair<std::string, int>> axes;
  for (int axis = 0; axis < static_cast<int>(mesh.sizes.size()); ++axis) {
    if (axes.empty() || axes.back().first != mesh.whole(axis)) {
      axes.emplace_back(mesh.whole(axis), 1);
    }
    axes.back().second *= mesh.sizes[static_cast<std::size_t>(axis)];
  }
  return axes;
}

Mesh split_axis(const Mesh& mesh, int axis, const std::vector<int>& sizes) {
  const auto a = static_cast<std::size_t>(axis);
  Mesh result = mesh;
  if (result.wholes.empty()) result.wholes = result.names;
  int product = 1;
  for (const int size : sizes) product *= size;
  MW_CHECK(product == mesh.sizes[a] && mesh.names[a] == mesh.whole(axis), "axis {} of {}", axis,
           to_string(mesh));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(fmt::format("{}.{}", mesh.names[a], i));
  }
  const auto replace = [&](auto& list, const auto& by) {
    const auto at = list.erase(list.begin() + axis);
    list.insert(at, by.begin(), by.end());
  };
  replace(result.names, names);
  replace(result.sizes, sizes);
  replace(result.wholes, std::vector<std::string>(sizes.size(), mesh.whole(axis)));
  return result;
}

Mesh ordered(Mesh mesh, std::vector<int> devices) {
  MW_CHECK(std::ssize(devices) == mesh.num_devices(), "{} devices", devices.size());
  mesh.positions.resize(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    mesh.positions[static_cast<std::size_t>(devices[i])] = static_cast<int>(i);
  }
  mesh.devices = std::move(devices);
  return mesh;
}

Mesh make_mesh(const config::MeshSpec& spec, int devices) {
  constexpr std::int64_t kMaxDevices = 1 << 20;
  Mesh mesh;
  std::int64_t known = 1;
  int open = -1;
  for (const auto& [name, size] : spec.axes) {
    if (size == -1) {
      open = static_cast<int>(mesh.names.size());
    } else {
      known *= size;
      if (known > kMaxDevices) config::fail_at(spec.at, "mesh: more than {} devices", kMaxDevices);
    }
    mesh.names.push_back(name);
    mesh.sizes.push_back(static_cast<int>(size));
  }
  if (open >= 0) {
    if (devices % known != 0) {
      config::fail_at(spec.at,
                      "mesh: {} devices cannot be divided by the {} of the other axes; start a "
                      "multiple of {} ranks, or give '{}' a size",
                      devices, known, known, mesh.names[static_cast<std::size_t>(open)]);
    }
    mesh.sizes[static_cast<std::size_t>(open)] =
        devices == 0 ? 1 : devices / static_cast<int>(known);
  }
  if (!spec.devices.empty()) return ordered(std::move(mesh), spec.devices);
  return mesh;
}

}  // namespace meshwork
