#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spmd/rematerialize.h"

namespace meshwork {

/// A program in which these segments are computed again.
struct MemoryChoice {
  std::vector<Segment> segments;
  std::vector<SegmentCost> costs;  ///< of each segment
  std::int64_t bytes = 0;          ///< that the program takes on the device that needs most
};

/// Compiles the program with these segments, as far as is needed to know its bytes.
using MeasureSegments = std::function<MemoryChoice(std::vector<Segment> segments)>;

/// The choice that repeats the fewest operations among those of at most `limit` bytes: `stated`
/// alone, else with the segments of one of the `ways` to cut the model, those first that save most
/// bytes per operation, as many as it takes. If none fits, the smallest that was found.
MemoryChoice fit_memory(const std::vector<Segment>& stated,
                        const std::vector<std::vector<Segment>>& ways, std::int64_t limit,
                        const MeasureSegments& measure);

}  // namespace meshwork
