#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "job/job.h"

namespace meshwork::testing {

/// What a few steps of training leave behind, as global tensors.
struct Trajectory {
  std::vector<double> losses;                         ///< of every step
  std::map<std::string, std::vector<float>> weights;  ///< after the last step
  std::map<std::string, double> metrics;              ///< means over all steps
  std::uint64_t digest = 0;
};

struct TrainOptions {
  std::string mesh = {};  ///< as --mesh; "" for that of the text
  std::int64_t steps = 3;
  bool shuffle = true;
  /// Weights to start from instead of the initializers: global tensors by path.
  std::map<std::string, std::vector<float>> initial = {};
  DeviceFactory make_device = {};           ///< instead of the CPU's
  std::function<void(Target&)> adapt = {};  ///< changes what the compiler knows of the device
};

/// Reads a configuration and trains it on virtual devices.
Trajectory train(const std::string& text, const TrainOptions& options);

/// A job over a configuration text, without programs.
Job job_of(const std::string& text, const std::string& mesh);

/// The greatest relative difference of losses, and of weights relative to the largest weight of
/// their tensor; infinity where the two do not have the same shape.
double loss_difference(const Trajectory& a, const Trajectory& b);
double weight_difference(const Trajectory& a, const Trajectory& b);

}  // namespace meshwork::testing
