#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.h"
#include "spmd/rematerialize.h"

namespace meshwork {

/// What a program takes in which some segments are computed again.
struct SegmentsMeasure {
  std::vector<SegmentCost> costs;  ///< of each segment
  std::vector<MemoryUse> devices;  ///< of those asked for
};

/// Compiles the program with these segments for these devices, as far as is needed to know that.
using MeasureSegments = std::function<SegmentsMeasure(const std::vector<Segment>& segments,
                                                      const std::vector<int>& devices)>;

struct MemoryChoice {
  std::vector<Segment> segments;
  std::vector<SegmentCost> costs;  ///< of each segment
  MemoryUse use;                   ///< on the device that takes most
  int device = 0;                  ///< which one that is
};

/// The choice that repeats the fewest operations among those of at most `limit` bytes on each of
/// the devices 0 to `devices` - 1: `stated` alone, else with the segments of one of the `ways` to
/// cut the model, those first that save most bytes per operation, as many as it takes. If none
/// fits, the smallest that was found, on a device that takes more.
MemoryChoice fit_memory(const std::vector<Segment>& stated,
                        const std::vector<std::vector<Segment>>& ways, std::int64_t limit,
                        int devices, const MeasureSegments& measure);

}  // namespace meshwork
