#pragma once

#include <vector>

#include "config/config.h"
#include "spmd/rematerialize.h"

namespace meshwork {

/// The segments that the file asks for: layers and blocks that say `rematerialize: true`, and those
/// of its section `rematerialize`. Throws Error for a pattern that matches no layer and no block.
/// `forward`: a program that names the outputs of the layers.
std::vector<Segment> stated_segments(const config::Config& config, const Graph& forward);

/// Ways to cut the whole model into segments: by its layers, by the blocks of every depth, and by
/// groups of 2, 3, 4, 6, 9 .. of the innermost blocks, or of layers where there are no blocks. Each
/// way comes twice, first with light segments.
std::vector<std::vector<Segment>> segmentations(const config::ModelSpec& model);

/// "stage_1/basic", "conv2d to dense_2".
std::string to_string(const Segment& segment);

/// A line for each segment of which something is computed again, with what that gains and costs.
std::string to_string(const std::vector<Segment>& segments, const std::vector<SegmentCost>& costs);

}  // namespace meshwork
