#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/layout.h"

namespace meshwork {

/// Some devices of a mesh, ascending; of many the first ones only.
struct DeviceSet {
  std::vector<int> listed;
  std::int64_t count = 0;
  int last = -1;
};

/// For each mesh axis the position at which devices are, or -1 for all.
using Coordinates = std::vector<int>;

Coordinates anywhere(const Mesh& mesh);

/// Fixes the position along `axes`, major first, at the part number `part`.
void fix_part(Coordinates& at, const std::vector<int>& axes, std::int64_t part, const Mesh& mesh);

DeviceSet devices_at(const Coordinates& at, const Mesh& mesh);

/// "0,4", "0-7", "0-3,8-11", "0,8,16,…,120 (16 devices)".
std::string to_string(const DeviceSet& devices);

/// The devices that hold nothing of a tensor: one of its dimensions has more parts than elements.
DeviceSet empty_devices(const Shape& shape, const Layout& layout, const Mesh& mesh);

}  // namespace meshwork
