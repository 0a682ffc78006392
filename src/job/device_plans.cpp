#include "job/device_plans.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.h"
#include "plan/memory_limit.h"

namespace meshwork {

DevicePlans plan_device(const Job& job, int device, const WorkspaceQuery& workspace) {
  DevicePlans result;
  // The program with most variables comes first: others have its first ones.
  using Program = std::pair<const ProgramKey, GlobalProgram>;
  std::vector<const Program*> programs;
  for (const Program& program : job.programs) programs.push_back(&program);
  const auto variables = [](const Program* program) {
    return program->second.partitioned.graph.variables.size();
  };
  std::ranges::stable_sort(programs, std::greater<>(), variables);
  for (const Program* program : programs) {
    const auto& [key, global] = *program;
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
  MemoryUse use;
  for (const auto& [key, plan] : plans.plans) {
    const MemoryUse other = memory_use(plan);
    use.weights = std::max(use.weights, other.weights);
    use.cache = std::max(use.cache, other.cache);
  }
  use.optimizer = plans.variable_bytes - use.weights - use.cache;
  use.step = plans.arena_bytes - plans.variable_bytes;
  return use;
}

}  // namespace meshwork
