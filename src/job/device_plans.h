#pragma once

#include <cstdint>
#include <map>

#include "job/job.h"

namespace meshwork {

/// The plans of one device for all programs of a job. They run in one arena, with the variables in
/// the same places.
struct DevicePlans {
  std::map<ProgramKey, Plan> plans;
  std::int64_t variable_bytes = 0;  ///< weights and optimizer state, with padding
  std::int64_t arena_bytes = 0;     ///< all of it: the most that a plan takes
};

/// `workspace`: of the backend that the plans are for.
DevicePlans plan_device(const Job& job, int device, const WorkspaceQuery& workspace);

/// Throws the configuration Error of a plan that takes more than the file allows.
void check_memory_limit(const Job& job, const DevicePlans& plans, int device);

/// What the arena is made of.
MemoryUse memory_use(const DevicePlans& plans);

}  // namespace meshwork
