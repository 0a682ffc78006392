#pragma once

#include <vector>

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

/// The nodes of a program in the ranges in which they are computed: single ones and fusions.
class Units {
 public:
  Units(const Graph& program, const ValueMap<int>& fusion) {
    for (const ValueId id : program.ids()) {
      const bool goes_on = id > 0 && !fusion.empty() && fusion[id] == fusion[id - 1];
      begin_.push_back(goes_on ? begin_.back() : id);
    }
    end_.resize(program.nodes.size(), program.end());
    for (ValueId id = program.end() - 2; id >= 0; --id) {
      end_[id] = begin(id) == begin(id + 1) ? end_[id + 1] : id + 1;
    }
  }

  /// Of the unit that `id` belongs to.
  ValueId begin(ValueId id) const { return begin_[id]; }
  ValueId end(ValueId id) const { return end_[id]; }

 private:
  ValueMap<ValueId> begin_;
  ValueMap<ValueId> end_;
};

/// Collectives that go out as one, in the order of their operands. Gradients on their way to
/// updates fill buckets: what depends on one comes when the next one is on its way, which bounds
/// the memory of gradients. A bucket is a call of all-reduces, or several calls, of a
/// reduce-scatter each.
struct Call {
  std::vector<ValueId> nodes;
  int bucket = -1;          ///< number of its bucket, in the order of their last operands; -1: none
  std::size_t missing = 0;  ///< nodes that it waits for and that are not there yet
  bool is_ahead = false;    ///< may start at any time (plan/ahead.h)
  int started = -1;         ///< instruction
  bool finished = false;
};

/// The calls of a program, buckets last.
std::vector<Call> group_collectives(const Graph& program, const Target& target, const Units& units);

}  // namespace meshwork
