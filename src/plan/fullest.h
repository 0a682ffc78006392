#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace meshwork {

/// What lies in the arena beside the variables when most does.
struct Fullest {
  /// A value whose bytes are in use; kNoValue: scratch memory of the instruction.
  struct Held {
    ValueId value = kNoValue;
    std::int64_t bytes = 0;
  };
  int instruction = -1;  ///< during which that is so; -1: never is anything
  std::int64_t bytes = 0;
  std::vector<Held> values;  ///< the largest first; of several in one place the last one made
};

/// Of a plan whose memory is laid out; the first moment of several.
Fullest fullest_moment(const Plan& plan);

}  // namespace meshwork
