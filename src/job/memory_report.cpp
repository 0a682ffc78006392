#include "job/memory_report.h"

#include <sys/resource.h>

#include <fmt/format.h>

#include <set>

#include "base/file.h"

namespace meshwork {

std::int64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::int64_t kept_data_bytes(const Job& job) {
  std::set<const data::Source*> counted;  // a part taken off for validation is of the same files
  std::int64_t bytes = 0;
  const auto count = [&](const data::Split& split) {
    for (const data::Field& field : split.fields) {
      const data::Source& source = field.source->holder();
      if (counted.insert(&source).second) bytes += source.kept_bytes();
    }
  };
  count(job.split);
  if (job.validation) count(*job.validation);
  return bytes;
}

PlannedMemory planned_memory(const Job& job, const ShowPlans& show) {
  PlannedMemory memory;
  memory.data = kept_data_bytes(job);
  const MemoryQuery query = memory_query(job);
  std::int64_t most = -1;
  for (const int device : different_devices(job)) {
    const DevicePlans plans = plan_device(job, device, query);
    check_memory_limit(job, plans, device);
    if (show) show(device, plans);
    const MemoryUse use = memory_use(plans);
    if (use.bytes() <= most) continue;
    most = use.bytes();
    memory.device = device;
    memory.use = use;
  }
  return memory;
}

std::vector<DeviceMemory> memory_of_all(const Session& session) {
  const MemoryUse use = session.memory();
  const DeviceMemory mine{
      session.variable_bytes(),       session.arena_bytes(), use.collectives, use.samples,
      kept_data_bytes(session.job()), peak_resident_bytes()};
  return gather_all(session.hosts(), mine);
}

void write_memory_report(const std::vector<DeviceMemory>& devices, const std::string& file) {
  std::string text = "device,variables,arena,collectives,samples,data,process_peak\n";
  int number = 0;
  for (const auto& [variables, arena, collectives, samples, data, process_peak] : devices) {
    text += fmt::format("{},{},{},{},{},{},{}\n", number++, variables, arena, collectives, samples,
                        data, process_peak);
  }
  replace_file(file, text);
}

}  // namespace meshwork
