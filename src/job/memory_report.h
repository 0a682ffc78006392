#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/device_plans.h"
#include "job/session.h"

namespace meshwork {

/// What training takes, known before it runs, in bytes.
struct PlannedMemory {
  int device = 0;         ///< that takes most
  MemoryUse use;          ///< of it
  std::int64_t data = 0;  ///< that a process keeps of the data set, see kept_data_bytes()
};

/// Is shown the plans of a device.
using ShowPlans = std::function<void(int device, const DevicePlans& plans)>;

/// Of a job with the programs of fit, in a launch like this one. Throws the configuration Error of
/// a device that takes more than the file allows. `show` sees a device of each kind.
PlannedMemory planned_memory(const Job& job, const ShowPlans& show = {});

/// What a device has, in bytes.
struct DeviceMemory {
  std::int64_t variables = 0;     ///< its part of weights and optimizer state
  std::int64_t arena = 0;         ///< all that its programs compute in
  std::int64_t collectives = 0;   ///< beside it, for collectives
  std::int64_t samples = 0;       ///< the same, copies of stored samples
  std::int64_t data = 0;          ///< what its process keeps of the data set
  std::int64_t process_peak = 0;  ///< the most its process has had resident (VmHWM); devices that
                                  ///< are threads of one process share it
};

/// Of every device; all call it.
std::vector<DeviceMemory> memory_of_all(const Session& session);

constexpr const char* kMemoryFile = "memory.csv";

/// Writes it, a row per device:
///
///     device,variables,arena,collectives,samples,data,process_peak
///     0,19431424,58728448,0,0,7850000,104857600
void write_memory_report(const std::vector<DeviceMemory>& devices, const std::string& file);

/// Bytes that the splits a job trains and validates on leave in memory once they have been read.
std::int64_t kept_data_bytes(const Job& job);

/// The most bytes this process has had resident so far; 0 where the system does not tell.
std::int64_t peak_resident_bytes();

}  // namespace meshwork
