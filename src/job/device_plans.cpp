#include "job/device_plans.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "graph/op_def.h"
#include "plan/memory_limit.h"

namespace meshwork {

namespace {

/// Programs share the copies of a source, and so do the splits that are parts of it.
std::int64_t sample_bytes(const Job& job, const std::map<ProgramKey, Plan>& plans) {
  std::set<const data::Source*> sources;
  for_each_samples(job, plans, [&](const data::Split& /*split*/, const data::Field& field) {
    sources.insert(field.source.get());
  });
  return stored_bytes(sources);
}

}  // namespace

DevicePlans plan_device(const Job& job, int device, const MemoryQuery& query) {
  DevicePlans result;
  bool has_copies = false;
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
    Plan plan = compile_for_device(global, job.mesh, device, query, result.variable_bytes,
                                   {.dump = {}, .times = job.pass_times.get()});
    MW_CHECK(result.plans.empty() || plan.variable_bytes <= result.variable_bytes);
    result.variable_bytes = std::max(result.variable_bytes, plan.variable_bytes);
    result.arena_bytes = std::max(result.arena_bytes, plan.arena_bytes);
    result.collective_bytes += plan.collective_bytes;
    has_copies = has_copies || plan.sample_bytes > 0;
    result.plans.emplace(key, std::move(plan));
  }
  if (has_copies) result.sample_bytes = sample_bytes(job, result.plans);
  return result;
}

std::vector<int> different_devices(const Job& job) {
  std::vector<DeviceKinds> kinds;
  for (const auto& [key, program] : job.programs) kinds.emplace_back(program.partitioned, job.mesh);
  std::set<std::vector<std::int64_t>> known;
  std::vector<int> devices;
  for (int device = 0; device < job.mesh.num_devices(); ++device) {
    std::vector<std::int64_t> kind;
    for (const DeviceKinds& of : kinds) {
      const std::vector<std::int64_t> part = of.kind_of(device);
      kind.insert(kind.end(), part.begin(), part.end());
    }
    if (known.insert(kind).second) devices.push_back(device);
  }
  return devices;
}

void check_memory_limit(const Job& job, const DevicePlans& plans, int device) {
  for (const auto& [key, plan] : plans.plans) {
    MemoryUse use = memory_use(plan);
    use.collectives = plans.collective_bytes;
    use.samples = plans.sample_bytes;
    check_memory_limit(job.config, {describe(key.kind, key.batch), smaller_batch(key.kind)}, use,
                       device);
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
  use.collectives = plans.collective_bytes;
  use.samples = plans.sample_bytes;
  return use;
}

void for_each_samples(const Job& job, const std::map<ProgramKey, Plan>& plans,
                      const SamplesStep& step) {
  std::set<std::pair<std::string, std::string>> done;  // fields of splits
  for (const auto& [key, plan] : plans) {
    for (const Node& node : plan.program.nodes) {
      if (node.op->leaf != Leaf::kSamples) continue;
      const data::Split& split = job.splits.at(split_kind(key.kind));
      const data::Field* field = split.find(node.attrs.text("name"));
      MW_CHECK(field != nullptr, "samples of '{}'", node.attrs.text("name"));
      if (done.emplace(split.name, field->name).second) step(split, *field);
    }
  }
}

std::int64_t stored_bytes(const std::set<const data::Source*>& sources) {
  std::int64_t bytes = 0;
  for (const data::Source* source : sources) bytes += source->bytes();
  return bytes;
}

}  // namespace meshwork
