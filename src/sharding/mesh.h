#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace meshwork {

/// Devices in a grid with named axes, whose positions are counted with the last axis fastest.
/// Position i is run by device (thread or rank) i, unless the mesh lists its devices in another
/// order; parts of tensors and orders of sums go by positions alone.
struct Mesh {
  std::vector<std::string> names;
  std::vector<int> sizes;
  std::vector<int> devices = {};    ///< of each position; {}: 0, 1, 2, ..
  std::vector<int> positions = {};  ///< of each device, the inverse; {} likewise
  /// Of each axis the one of the configuration that it is a part of; {}: they are these.
  std::vector<std::string> wholes = {};

  int num_devices() const;
  /// The configuration's axis that `axis` is, or is a part of.
  const std::string& whole(int axis) const;
  /// The axes that the configuration's axis `name` is made of, major first; {} if there is none.
  std::vector<int> parts_of(std::string_view name) const;
  std::vector<std::string> axis_names(std::span<const int> axes) const;
  /// Number of parts into which `axes` together divide a dimension: the product of their sizes.
  int parts(std::span<const int> axes) const;
  /// Position of `device` along each axis.
  std::vector<int> coordinates(int device) const;
  /// The device at a position along each axis.
  int device_at(std::span<const int> coordinates) const;
  /// The devices that differ from `device` only along `axes`, the first of `axes` varying slowest.
  /// On a 2x4 mesh, device 5 along axis 1: [4, 5, 6, 7]; along axis 0: [1, 5].
  std::vector<int> group(std::span<const int> axes, int device) const;
};

/// "data=2,model=4", the axes of the configuration.
std::string to_string(const Mesh& mesh);

/// Names and sizes of the configuration's axes.
std::vector<std::pair<std::string, int>> stated_axes(const Mesh& mesh);

/// The mesh with an axis in parts of these sizes, major first, called "model.0", "model.1", ..; no
/// device changes its place.
Mesh split_axis(const Mesh& mesh, int axis, const std::vector<int>& sizes);

/// The mesh with its positions run by `devices`, a permutation of 0, 1, 2, ..
Mesh ordered(Mesh mesh, std::vector<int> devices);

/// The mesh of a configuration; a size of -1 takes what `devices` leaves to it (one device per
/// missing factor if `devices` is 0: no device count is known).
Mesh make_mesh(const config::MeshSpec& spec, int devices);

}  // namespace meshwork
