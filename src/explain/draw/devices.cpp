#include "explain/draw/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace meshwork {
namespace {

constexpr std::size_t kListed = 256;
constexpr std::size_t kShownRuns = 12;

/// Devices first..last, one after the other.
struct Run {
  int first = 0;
  int last = 0;
};

std::string show(const Run& run) {
  if (run.first == run.last) return std::to_string(run.first);
  const char* between = run.last == run.first + 1 ? "," : "-";
  return fmt::format("{}{}{}", run.first, between, run.last);
}

std::vector<Run> runs_of(const std::vector<int>& devices) {
  std::vector<Run> runs;
  for (const int device : devices) {
    if (!runs.empty() && runs.back().last + 1 == device) {
      runs.back().last = device;
    } else {
      runs.push_back({device, device});
    }
  }
  return runs;
}

}  // namespace

Coordinates anywhere(const Mesh& mesh) { return Coordinates(mesh.sizes.size(), -1); }

void fix_part(Coordinates& at, const std::vector<int>& axes, std::int64_t part, const Mesh& mesh) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    at[axis] = static_cast<int>(part % mesh.sizes[axis]);
    part /= mesh.sizes[axis];
  }
}

DeviceSet devices_at(const Coordinates& at, const Mesh& mesh) {
  DeviceSet devices{.listed = {}, .count = 1, .last = 0};
  std::vector<int> position(at.size());
  for (std::size_t a = 0; a < at.size(); ++a) {
    position[a] = at[a] < 0 ? mesh.sizes[a] - 1 : at[a];
    if (at[a] < 0) devices.count *= mesh.sizes[a];
  }
  devices.last = mesh.device_at(position);
  for (std::size_t a = 0; a < at.size(); ++a) position[a] = std::max(at[a], 0);
  const bool in_order = mesh.devices.empty();
  for (bool more = true; more && (!in_order || devices.listed.size() < kListed);) {
    devices.listed.push_back(mesh.device_at(position));
    more = false;
    // The next one: the last free axis counts fastest.
    for (std::size_t a = at.size(); a-- > 0 && !more;) {
      if (at[a] >= 0) continue;
      position[a] = (position[a] + 1) % mesh.sizes[a];
      more = position[a] != 0;
    }
  }
  if (in_order) return devices;
  std::sort(devices.listed.begin(), devices.listed.end());
  devices.last = devices.listed.back();
  devices.listed.resize(std::min(devices.listed.size(), kListed));
  return devices;
}

std::string to_string(const DeviceSet& devices) {
  if (devices.count > 2 && devices.last - devices.listed.front() + 1 == devices.count) {
    return show({devices.listed.front(), devices.last});
  }
  const std::vector<Run> runs = runs_of(devices.listed);
  const bool all = runs.size() <= kShownRuns &&
                   devices.count == static_cast<std::int64_t>(devices.listed.size());
  const std::size_t shown = all ? runs.size() : std::min<std::size_t>(3, runs.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? "," : "") + show(runs[i]);
  if (all) return text;
  return fmt::format("{},…,{} ({} devices)", text, devices.last, devices.count);
}

DeviceSet empty_devices(const Shape& shape, const Layout& layout, const Mesh& mesh) {
  std::set<int> found;
  std::int64_t full = mesh.num_devices();
  DeviceSet empty;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::vector<Interval> parts = blocks_of(shape[d], layout.dims[d], mesh);
    std::int64_t filled = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].size() > 0) {
        ++filled;
        continue;
      }
      Coordinates at = anywhere(mesh);
      fix_part(at, layout.dims[d], static_cast<std::int64_t>(i), mesh);
      const DeviceSet some = devices_at(at, mesh);
      if (found.size() < kListed) found.insert(some.listed.begin(), some.listed.end());
      empty.last = std::max(empty.last, some.last);
    }
    full = full / static_cast<std::int64_t>(parts.size()) * filled;
  }
  empty.count = mesh.num_devices() - full;
  empty.listed.assign(found.begin(), found.end());
  return empty;
}

}  // namespace meshwork
