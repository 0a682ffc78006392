#pragma once

#include <string>

#include "job/session.h"

namespace meshwork {

/// What training takes, known before it runs, in bytes.
struct PlannedMemory {
  int device = 0;         ///< that takes most
  MemoryUse arena;        ///< of it
  std::int64_t data = 0;  ///< that a process keeps of the data set, see kept_data_bytes()
};

/// Of a job with the programs of fit, in a launch like this one. Throws the configuration Error of
/// a device that takes more than the file allows.
PlannedMemory planned_memory(const Job& job);

/// Writes memory.csv to the run directory, a row per device, all bytes:
///
///     device,variables,arena,data,process_peak
///     0,19431424,58728448,7850000,104857600
///
/// `variables` is this device's part of weights and optimizer state, `arena` all that its programs
/// use, `data` what the process keeps of the data set, `process_peak` the most memory its process
/// has had resident (VmHWM; devices that are threads of one process share it). All devices call it;
/// the first one writes.
void write_memory_report(const Session& session, const std::string& file);

/// Bytes that the splits a job trains and validates on leave in memory once they have been read.
std::int64_t kept_data_bytes(const Job& job);

/// The most bytes this process has had resident so far; 0 where the system does not tell.
std::int64_t peak_resident_bytes();

}  // namespace meshwork
