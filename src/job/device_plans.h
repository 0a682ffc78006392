#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "job/job.h"

namespace meshwork {

/// The plans of one device for all programs of a job. They run in one arena, with the variables in
/// the same places.
struct DevicePlans {
  std::map<ProgramKey, Plan> plans;
  std::int64_t variable_bytes = 0;  ///< weights and optimizer state, with padding
  std::int64_t arena_bytes = 0;     ///< all of it: the most that a plan takes
  /// Beside it, of all plans together: each has collectives of its own.
  std::int64_t collective_bytes = 0, sample_bytes = 0;
};

/// `query`: of the backend that the plans are for.
DevicePlans plan_device(const Job& job, int device, const MemoryQuery& query);

/// A device of each kind: the plans of any other one are as those of one of these.
std::vector<int> different_devices(const Job& job);

/// Throws the configuration Error of a plan that takes more than the file allows.
void check_memory_limit(const Job& job, const DevicePlans& plans, int device);

/// What the device takes for all of them.
MemoryUse memory_use(const DevicePlans& plans);

/// Every field of which some program reads the stored samples where they are, once for each split.
using SamplesStep = std::function<void(const data::Split& split, const data::Field& field)>;
void for_each_samples(const Job& job, const std::map<ProgramKey, Plan>& plans,
                      const SamplesStep& step);

/// Of all samples of these sources.
std::int64_t stored_bytes(const std::set<const data::Source*>& sources);

}  // namespace meshwork
