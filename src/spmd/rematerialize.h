#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/propagate.h"
#include "target.h"

namespace meshwork {

/// Layers whose forward values the backward pass computes again, from what goes into them all.
struct Segment {
  std::vector<std::string> paths;  ///< of layers, and of blocks for all that stands in them
  bool light = false;              ///< only ops that are light for the target are repeated
  bool operator==(const Segment&) const = default;
};

/// What a segment gains and costs, of the mean device.
struct SegmentCost {
  std::int64_t values = 0;  ///< computed again
  double bytes = 0;         ///< of values that are no longer kept for the backward pass
  double flops = 0;         ///< repeated
};

struct Rematerialized {
  LaidOut program;
  std::vector<SegmentCost> costs;  ///< of each segment
};

/// The same program, where the backward pass of a segment computes the segment's values again, each
/// just before it is first read, with the layouts, operands and ops of the original: the bits are
/// the same. Kept, and not computed again, is what
/// - enters a segment, or is read outside of it by the backward pass or the update;
/// - is much smaller than what it was computed from, such as the statistics of a batch;
/// - comes of communication, or is sent for the forward pass in another layout: nothing is sent
///   twice. Only a weight that is gathered for its use is gathered for the backward pass anew, as
///   it would be for a gradient (see insert_reshards).
/// Of segments that hold each other the outer counts, of equal paths the first.
Rematerialized rematerialize(const LaidOut& program, const std::vector<Segment>& segments,
                             const Mesh& mesh, const Target& target);

}  // namespace meshwork
