#pragma once

#include <string>
#include <vector>

#include "base/reduction.h"
#include "base/shape.h"
#include "graph/reach.h"
#include "sharding/mesh.h"

namespace meshwork {

/// Who holds what of a tensor. Along an axis that is named nowhere every device holds a replica.
struct Layout {
  /// Mesh axes that shard each dimension, major first.
  std::vector<std::vector<int>> dims;
  /// Empty, or for each dimension the interval that every part of it holds where that is not a
  /// balanced block: a tile with its halo. Parts count with the first axis slowest.
  std::vector<std::vector<Interval>> halos;
  /// Axes, ascending, over which the devices hold partial values still to be combined.
  std::vector<int> partial;
  Reduction reduction = Reduction::kSum;

  bool operator==(const Layout& other) const {
    return dims == other.dims && halos == other.halos && partial == other.partial &&
           (partial.empty() || reduction == other.reduction);
  }
};

Layout replicated(std::size_t rank);

/// How a layout map says what shards a dimension: "null", "data", "[data, model]".
std::string entry_text(const std::vector<std::string>& axes);

/// "[data, null]", "[[data, model], null] partial(x)", "[] partial_max(model)",
/// "[null, height{0:6 4:10}]": of 10 rows each half with one more.
std::string to_string(const Layout& layout, const Mesh& mesh);

/// Dimension that `axis` shards, or -1.
int dim_of_axis(const Layout& layout, int axis);
bool is_partial(const Layout& layout, int axis);

/// The part of a dimension of `size` elements that `device` holds when `axes` shard it: balanced
/// blocks, first by the first axis, each of these by the next. 10 over 4: 3, 3, 2, 2.
Interval block_of(std::int64_t size, const std::vector<int>& axes, const Mesh& mesh, int device);

/// The blocks of all parts, the first axis slowest.
std::vector<Interval> blocks_of(std::int64_t size, const std::vector<int>& axes, const Mesh& mesh);

/// Which part along `axes` a device holds.
int part_of(const std::vector<int>& axes, const Mesh& mesh, int device);

bool has_halo(const Layout& layout, std::size_t dim);
void set_halo(Layout& layout, std::size_t dim, std::vector<Interval> intervals);
/// The same without any halo.
Layout without_halos(const Layout& layout);

/// What every part of a windowed dimension of `extent` elements must hold where its factor, of
/// `size`, is sharded by `axes`; empty if the blocks are enough.
std::vector<Interval> halo_of(const Reach& reach, std::int64_t size, std::int64_t extent,
                              const std::vector<int>& axes, const Mesh& mesh);

/// What a device holds of dimension `dim` of a tensor.
Interval interval_of(const Shape& shape, const Layout& layout, std::size_t dim, const Mesh& mesh,
                     int device);

/// Extents and place of the device's part of a tensor.
Shape local_shape(const Shape& shape, const Layout& layout, const Mesh& mesh, int device);
Region local_region(const Shape& shape, const Layout& layout, const Mesh& mesh, int device);

/// The mean over the devices of the elements that one holds.
double mean_local_elements(const Shape& shape, const Layout& layout, const Mesh& mesh);

/// Whether `device` is the first among those that hold the same part.
bool is_first_replica(const Layout& layout, const Mesh& mesh, int device);

}  // namespace meshwork
