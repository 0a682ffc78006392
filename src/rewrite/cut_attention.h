#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

/// Keys or values that are put together of the parts of several devices, cut along the sequence.
struct GatheredSteps {
  ValueId whole = kNoValue;
  ValueId gather = kNoValue;          ///< the all-gather that gives it, up to the order of elements
  std::vector<std::int64_t> extents;  ///< steps of each member
};

/// Attention to the same keys and values, which nothing else reads.
struct CutAttention {
  GatheredSteps keys, values;
  std::vector<ValueId> forward;    ///< attention and attention_log_sum, in order
  std::vector<ValueId> gradients;  ///< in order
  /// The reduce-scatter over the same members to which each gradient of keys or values goes.
  std::map<ValueId, ValueId> scatters;
};

/// All of it in the program of one device whose blocks of keys and of values fill the links: the
/// same on all devices.
std::vector<CutAttention> find_cut_attention(const Graph& program, const Target& target);

}  // namespace meshwork
