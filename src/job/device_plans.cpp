#include "job/device_plans.h"

#include <algorithm>

#include "base/check.h"
#include "plan/memory_limit.h"

namespace meshwork {

DevicePlans plan_device(const Job& job, int device, const WorkspaceQuery& workspace) {
  DevicePlans result;
  // The program that initializes comes first and has all variables.
  for (const auto& [key, global] : job.programs) {
    Plan plan = compile_for_device(global, job.mesh, device, workspace, result.variable_bytes,
                                   {.dump = {}, .times = job.pass_times.get()});
    MW_CHECK(result.plans.empty() || plan.variable_bytes <= result.variable_bytes);
    result.variable_bytes = std::max(result.variable_bytes, plan.variable_bytes);
    result.arena_bytes = std::max(result.arena_bytes, plan.arena_bytes);
    result.plans.emplace(key, std::move(plan));
  }
  return result;
}

void check_memory_limit(const Job& job, const DevicePlans& plans, int device) {
  for (const auto& [key, plan] : plans.plans) {
    check_memory_limit(job.config, describe(key.kind, key.batch), memory_use(plan), device);
  }
}

MemoryUse memory_use(const DevicePlans& plans) {
  MW_CHECK(!plans.plans.empty());
  MemoryUse use = memory_use(plans.plans.begin()->second);
  use.optimizer = plans.variable_bytes - use.weights;
  use.step = plans.arena_bytes - plans.variable_bytes;
  return use;
}

}  // namespace meshwork
