#pragma once

#include <cstdint>
#include <vector>

#include "base/reduction.h"

namespace meshwork {

/// What a node asks of the communicator; such nodes stand in local programs only.
enum class Collective { kNone, kAllReduce, kAllGather, kReduceScatter, kAllToAll };

/// Who takes part in the collective of a node, and how many elements go where.
struct CollectiveArgs {
  /// Of the mesh, along which the members stand.
  std::vector<std::int64_t> axes = {};
  /// Indices of devices, in the order of the canonical sum.
  std::vector<std::int64_t> members = {};
  std::int64_t own = 0;  ///< place of this device among the members
  Reduction reduction = Reduction::kSum;
  /// Elements of the block of each member (all-gather, reduce-scatter), or sent to each
  /// (all-to-all).
  std::vector<std::int64_t> counts = {};
  std::vector<std::int64_t> recv_counts = {};  ///< from each member (all-to-all)
  /// Of the result, on the device of the mesh that has most: on all devices the same, which come to
  /// one order of calls by it.
  std::int64_t most_elements = 0;
  bool operator==(const CollectiveArgs&) const = default;
};

}  // namespace meshwork
