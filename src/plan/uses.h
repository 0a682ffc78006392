#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace meshwork {

/// When the values of a plan are made and read, by numbers of instructions, and whose bytes they
/// show.
struct Uses {
  explicit Uses(const Plan& plan);

  ValueMap<int> made_by;              ///< -1: it is there from the start
  ValueMap<int> last;                 ///< that reads it or a view of it; behind all: for results
  ValueMap<int> reads;                ///< how often nodes read it or a view of it
  std::vector<int> finish_of;         ///< of instructions that start a collective; -1 of others
  ValueMap<ValueId> root;             ///< the value whose bytes it shows
  ValueMap<std::int64_t> shown_from;  ///< bytes into its root at which they begin

 private:
  void find_roots(const Graph& graph);
  void touch(ValueId id, int instruction);
  void touch_call(const Plan& plan, int finish);
};

}  // namespace meshwork
