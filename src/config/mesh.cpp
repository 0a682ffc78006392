
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/join.h"
#include "base/letters.h"
#include "base/nearest.h"
#include "base/split.h"
#include "config/sections.h"

namespace meshwork::config {
namespace {

constexpr std::int64_t kMaxDevices = std::numeric_limits<std::int32_t>::max();
constexpr const char* kForms = "write sizes, as 4x2, or axes, as data=4,model=2";

std::vector<std::string> names(const MeshSpec& mesh) {
  std::vector<std::string> result;
  for (const auto& axis : mesh.axes) result.push_back(axis.first);
  return result;
}

void add_axis(MeshSpec& mesh, const std::string& name, const Location& name_at, std::int64_t size,
              const Location& size_at) {
  if (!is_name(name)) {
    fail_at(name_at, "mesh axis '{}': a name is made of letters, digits and _, no digit first",
            name);
  }
  for (const auto& [other, other_size] : mesh.axes) {
    if (other == name) fail_at(name_at, "mesh axis '{}' stands twice; remove one", name);
    if (size == -1 && other_size == -1) {
      fail_at(size_at, "mesh axes '{}' and '{}' are both -1; one size at most may be left open",
              other, name);
    }
  }
  if (size != -1 && size < 1) {
    fail_at(size_at, "mesh axis '{}': size is {}; give at least 1, or -1 for all that is left",
            name, size);
  }
  mesh.axes.emplace_back(name, size);
}

void check_device_count(const MeshSpec& mesh) {
  std::int64_t devices = 1;
  for (const auto& axis : mesh.axes) {
    const std::int64_t size = std::max<std::int64_t>(axis.second, 1);
    if (size > kMaxDevices / devices) {
      fail_at(mesh.at, "mesh {} has more than {} devices", to_string(mesh), kMaxDevices);
    }
    devices *= size;
  }
}

MeshSpec mesh_of_map(const Value& value) {
  if (!value.is_map()) {
    fail_at(value.at, "mesh must be a map of axes and sizes, such as {{data: 2, model: 4}}, not {}",
            describe(value));
  }
  if (value.map.empty()) fail_at(value.at, "mesh has no axes; write one, such as {{data: -1}}");
  MeshSpec mesh;
  mesh.at = value.at;
  for (const Value::Entry& axis : value.map) {
    const std::string what = fmt::format("mesh axis '{}': size", axis.key);
    add_axis(mesh, axis.key, axis.at, axis.value.as_integer(what), axis.value.at);
  }
  return mesh;
}

/// The product of all sizes but an open one.
std::int64_t known_devices(const MeshSpec& mesh) {
  std::int64_t devices = 1;
  for (const auto& axis : mesh.axes) devices *= std::max<std::int64_t>(axis.second, 1);
  return devices;
}

bool is_open(const MeshSpec& mesh) {
  return std::any_of(mesh.axes.begin(), mesh.axes.end(),
                     [](const auto& axis) { return axis.second == -1; });
}

/// Checks that `value` lists each device of the mesh once; it settles an open size.
void read_devices(const Value& value, MeshSpec& mesh) {
  if (!value.is_list()) {
    fail_at(value.at, "mesh devices must be a list of their numbers, such as [1, 0], not {}",
            describe(value));
  }
  const auto count = std::ssize(value.list);
  const std::int64_t known = known_devices(mesh);
  if (is_open(mesh) ? count == 0 || count % known != 0 : count != known) {
    fail_at(value.at, "mesh devices: {} are listed, but the axes {} have {}{}", count,
            to_string(mesh), is_open(mesh) ? "a multiple of " : "", known);
  }
  for (auto& axis : mesh.axes) {
    if (axis.second == -1) axis.second = count / known;
  }
  std::vector<bool> seen(value.list.size());
  for (const Value& item : value.list) {
    const std::int64_t device = item.as_integer("mesh devices: an entry");
    if (device < 0 || device >= count) {
      fail_at(item.at, "mesh devices: there is no device {}; the {} of the mesh are 0 to {}",
              device, count, count - 1);
    }
    if (seen[static_cast<std::size_t>(device)]) {
      fail_at(item.at, "mesh devices: {} stands twice; list each device once", device);
    }
    seen[static_cast<std::size_t>(device)] = true;
    mesh.devices.push_back(static_cast<int>(device));
  }
}

/// `{data: 2, model: 4}`, or with an order `{axes: {data: 2, model: 4}, devices: [3, 2, ..]}`.
MeshSpec mesh_of_file(const Value& value) {
  const Value::Entry* axes = value.find("axes");
  const Value::Entry* devices = value.find("devices");
  const bool is_long = (axes != nullptr && !axes->value.is_scalar()) ||
                       (devices != nullptr && !devices->value.is_scalar());
  if (!is_long) return mesh_of_map(value);
  Reader reader(value, "mesh");
  const Value* order = reader.find("devices");
  const Value& sizes = reader.require("axes");
  reader.finish();
  MeshSpec mesh = mesh_of_map(sizes);
  check_device_count(mesh);
  if (order != nullptr) read_devices(*order, mesh);
  return mesh;
}

std::int64_t parse_size(std::string_view text, const Location& at) {
  std::int64_t size = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (status != std::errc{} || stop != text.data() + text.size()) {
    fail_at(at, "'{}' is not a size; {}", text, kForms);
  }
  return size;
}

/// "data=4,model=2".
MeshSpec mesh_of_axes(std::string_view text, const Location& at) {
  MeshSpec mesh;
  mesh.at = at;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      fail_at(at, "'{}' is not an axis and its size; {}", part, kForms);
    }
    add_axis(mesh, std::string(part.substr(0, equals)), at, parse_size(part.substr(equals + 1), at),
             at);
  }
  return mesh;
}

/// "4x2": new sizes for `axes`, in order.
MeshSpec mesh_of_sizes(std::string_view text, const Location& at,
                       const std::vector<std::string>& axes, const Location& axes_at) {
  const std::vector<std::string_view> sizes = split(text, 'x');
  if (!axes.empty() && sizes.size() != axes.size()) {
    fail_at(at, "gives {} size{}, but the mesh at {} has {} ({}); give as many, or name the axes",
            sizes.size(), sizes.size() == 1 ? "" : "s", to_string(axes_at), axes.size(),
            join(axes, ", "));
  }
  MeshSpec mesh;
  mesh.at = at;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string standard = i == 0 ? "data" : i == 1 ? "model" : fmt::format("axis{}", i);
    add_axis(mesh, axes.empty() ? standard : axes[i], at, parse_size(sizes[i], at), at);
  }
  return mesh;
}

}  // namespace

std::string to_string(const MeshSpec& mesh) {
  std::vector<std::string> axes;
  for (const auto& [name, size] : mesh.axes) axes.push_back(fmt::format("{}={}", name, size));
  return fmt::format("({})", join(axes, ", "));
}

MeshSpec read_mesh(const Value* mesh, const std::string& command_line) {
  MeshSpec result;
  if (mesh != nullptr) result = mesh_of_file(*mesh);
  if (!command_line.empty()) {
    const Location at{fmt::format("command line: '--mesh {}'", command_line), 0, 0};
    std::vector<int> devices = std::move(result.devices);
    result = command_line.find('=') != std::string::npos
                 ? mesh_of_axes(command_line, at)
                 : mesh_of_sizes(command_line, at, names(result), result.at);
    check_device_count(result);
    // An order of as many devices stays.
    if (!is_open(result) && known_devices(result) == std::ssize(devices)) {
      result.devices = std::move(devices);
    }
  } else if (mesh == nullptr) {
    result = {{{"data", -1}}, {"default mesh", 0, 0}};
  }
  check_device_count(result);
  return result;
}

std::vector<std::string> read_axes(const Value& value, const MeshSpec& mesh,
                                   std::string_view what) {
  std::vector<Value> items = {value};
  if (value.is_list()) items = value.list;
  std::vector<std::string> axes;
  for (const Value& item : items) {
    if (!item.is_scalar()) {
      fail_at(item.at, "{} must be an axis of the mesh or a list of them, not {}", what,
              describe(item));
    }
    const std::vector<std::string> known = names(mesh);
    if (std::find(known.begin(), known.end(), item.scalar) == known.end()) {
      fail_at(item.at, "{}: the mesh {} has no axis '{}'{}", what, to_string(mesh), item.scalar,
              suggestion(item.scalar, known));
    }
    if (std::find(axes.begin(), axes.end(), item.scalar) != axes.end()) {
      fail_at(item.at, "{}: axis '{}' stands twice", what, item.scalar);
    }
    axes.push_back(item.scalar);
  }
  return axes;
}

}  // namespace meshwork::config
