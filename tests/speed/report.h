#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "speed/kernel_times.h"
#include "speed/step_times.h"

namespace meshwork::speed {

/// What was measured of one configuration, as the first device saw it.
struct Report {
  std::string config, mesh;
  int devices = 1;
  bool by_mpirun = false;
  int threads = 1;  ///< of each device
  std::int64_t batch = 0;
  StepTimes step;
  ProgramTimes program;  ///< without kernels: not timed
  double peak = 0;       ///< FLOP/s of a device
  /// Of the device.
  std::int64_t variable_bytes = 0, arena_bytes = 0;
  /// Of its process.
  std::int64_t kept_data_bytes = 0, peak_resident_bytes = 0;
};

/// All of it, and the `top` slowest kernels.
nlohmann::ordered_json to_json(const Report& report, std::size_t top);

/// The same for readers.
void print(const Report& report, std::size_t top);

}  // namespace meshwork::speed
