#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "spmd/partition.h"

namespace meshwork {

/// Which devices are alike: their local programs have the same ops and extents everywhere, and
/// their tiles stand together at an edge of an image or within it, so that they take the same
/// memory. There are a few kinds, however many devices there are.
class DeviceKinds {
 public:
  /// Both must live as long.
  DeviceKinds(const Partitioned& program, const Mesh& mesh);

  /// The same for two devices if, and only if, they are alike.
  std::vector<std::int64_t> kind_of(int device) const;

 private:
  /// A dimension of a value that is not whole on every device.
  struct Divided {
    ValueId value = kNoValue;
    std::size_t dim = 0;
  };
  Interval interval(const Divided& divided, int device) const;
  void add_halo(ValueId id, int device, std::vector<std::int64_t>& kind) const;

  const Partitioned& program_;
  const Mesh& mesh_;
  std::vector<Divided> divided_;  ///< each way to divide an extent once
  std::vector<ValueId> halos_;    ///< values that a halo exchange gives
  std::set<int> tiled_;           ///< axes along which it does
};

}  // namespace meshwork
