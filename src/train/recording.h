#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "job/job.h"

namespace meshwork {

/// A variable after each of a few steps, as all devices together hold it.
struct RecordedTensor {
  std::string path;
  Shape shape;
  std::int64_t stride = 1;  ///< of a large one every stride-th element is kept, else all
  std::vector<std::vector<float>> values;  ///< before the first step, and after each
};

/// What the first steps of training give.
struct Recording {
  std::vector<double> losses;           ///< of each step
  std::vector<RecordedTensor> tensors;  ///< weights and optimizer state
};

struct RecordingOptions {
  std::int64_t steps = 5;
  /// A file of weights or the directory of a checkpoint to start from; "" for the initializers.
  std::string from = {};
  /// Every weight is first multiplied by a number of its own, up to so far from 1: what becomes of
  /// that tells what rounding may do.
  double disturbance = 0;
  std::uint64_t draw = 0;  ///< which of several disturbances
};

/// Adds the programs that record_steps() runs.
void prepare_recording(Job& job);

/// Trains for some steps as fit would, with all devices of the job as threads of this process, and
/// writes nothing to a disk.
Recording record_steps(const Job& job, const RecordingOptions& options);

}  // namespace meshwork
