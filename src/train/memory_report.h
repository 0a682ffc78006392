#pragma once

#include <string>

#include "train/session.h"

namespace meshwork {

/// Writes memory.csv to the run directory, a row per device, all bytes:
///
///     device,variables,arena,process_peak
///     0,19431424,58728448,104857600
///
/// `variables` is this device's part of weights and optimizer state, `arena` all that its programs
/// use, `process_peak` the most memory its process has had resident (VmHWM; devices that are
/// threads of one process share it). All devices call it; the first one writes.
void write_memory_report(const Session& session, const std::string& file);

/// The most bytes this process has had resident so far; 0 where the system does not tell.
std::int64_t peak_resident_bytes();

}  // namespace meshwork
