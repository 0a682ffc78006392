#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/recording.h"

namespace meshwork {

/// How far two numbers, or tensors, are apart, as a part of the greatest magnitude in them.
struct Distance {
  double difference = 0;
  double disturbed = 0;  ///< the most between one of them and what came of disturbed weights

  /// Up to `tolerance`, or to 32 times what the disturbance did: sums in another order differ in
  /// their last digits, and a ReLU at its edge, or a step of an optimizer, may make much of that.
  /// With a tolerance of 0: not at all.
  bool is_within(double tolerance) const;
};

/// The tensor of a step that is farthest beyond what is allowed, or nearest to it.
struct TensorDistance {
  std::string path;
  Distance distance;
  std::string place;  ///< of the element that differs most: "[3, 17]"
  float left = 0, right = 0;
};

struct StepComparison {
  double left_loss = 0, right_loss = 0;
  Distance loss;
  TensorDistance tensor;
  bool agrees = true;
};

struct RecordingComparison {
  bool same_start = true;  ///< the same bits before the first step
  std::vector<StepComparison> steps;
  bool agrees() const;
};

/// Compares what two meshes give. Each of `disturbed`, one at least, is as `right`, but for the
/// weights that it began with. The recordings are of the same model and as many steps.
RecordingComparison compare_recordings(const Recording& left, const Recording& right,
                                       std::span<const Recording> disturbed, double tolerance);

}  // namespace meshwork
