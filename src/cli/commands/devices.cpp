#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/join.h"
#include "base/json.h"
#include "cli/command.h"
#include "device/cuda_device.h"
#include "job/tuned_products.h"
#include "job/versions.h"
#include "machine/topology.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork devices
  mpirun -n 4 meshwork devices
      how many ranks the launcher made, and the cores that rank 0 may use
  meshwork devices --json | python3 -m json.tool

Without mpirun a mesh of any size runs on virtual devices, one thread each; they share these cores.)";

/// Bytes of the caches that the system tells of.
std::vector<std::pair<std::string, long>> cache_sizes() {
  std::vector<std::pair<std::string, long>> sizes;
  const std::pair<const char*, int> levels[] = {{"L1d", _SC_LEVEL1_DCACHE_SIZE},
                                                {"L2", _SC_LEVEL2_CACHE_SIZE},
                                                {"L3", _SC_LEVEL3_CACHE_SIZE}};
  for (const auto& [name, key] : levels) {
    const long size = sysconf(key);
    if (size > 0) sizes.emplace_back(name, size);
  }
  return sizes;
}

std::string caches() {
  std::vector<std::string> parts;
  for (const auto& [name, size] : cache_sizes()) {
    parts.push_back(fmt::format("{} {}", name, show_bytes(size)));
  }
  return parts.empty() ? "unknown" : join(parts, ", ");
}

std::string cores(const DeviceDescription& machine) {
  std::string text = fmt::format("{}", machine.cores);
  if (machine.processors != machine.cores) {
    text += fmt::format(" ({} logical processors)", machine.processors);
  }
  if (std::isfinite(machine.cgroup_processors)) {
    text += fmt::format(", limited to {:.2g} by a cgroup", machine.cgroup_processors);
  }
  return text;
}

std::string memory(const DeviceDescription& machine) {
  std::string text = show_bytes(machine.memory);
  if (machine.available_memory < machine.memory) {
    text += fmt::format(", limited to {} by a cgroup", show_bytes(machine.available_memory));
  }
  return text;
}

/// The GPUs, or why there are none.
struct Gpus {
  std::vector<GpuInfo> list;
  std::string missing;
};

Gpus find_gpus() {
  try {
    return {gpus(), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

std::vector<int> reached(const GpuInfo& gpu) {
  std::vector<int> numbers;
  for (std::size_t other = 0; other < gpu.reaches.size(); ++other) {
    if (gpu.reaches[other]) numbers.push_back(static_cast<int>(other));
  }
  return numbers;
}

using Json = nlohmann::ordered_json;

Json gpu_json(const GpuInfo& gpu, int number) {
  if (!gpu.problem.empty()) return {{"problem", gpu.problem}};
  return {{"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.capability / 10, gpu.capability % 10)},
          {"multiprocessors", gpu.multiprocessors},
          {"memory", gpu.memory},
          {"free_memory", gpu.free_memory},
          {"float32_flops", gpu.flops},
          {"tensor_float_32", gpu.has_tensor_float32},
          {"reaches", reached(gpu)},
          {"shared_by_processes", gpu.is_shared_by_processes},
          {"products", show_products(number)}};
}

/// Sizes in bytes; null where there is no limit, and no launcher.
Json machine_json(const DeviceDescription& machine, const Gpus& gpus) {
  const JobLaunch& job = machine.launch;
  const bool limited = std::isfinite(machine.cgroup_processors);
  Json json{{"host", machine.host},
            {"processor", machine.processor},
            {"features", machine.features},
            {"cores", machine.cores},
            {"logical_processors", machine.processors},
            {"cgroup_processors", limited ? Json(machine.cgroup_processors) : Json(nullptr)},
            {"memory", machine.memory},
            {"available_memory", machine.available_memory},
            {"caches", Json::object()},
            {"ranks", job.by_mpirun ? Json(job.size) : Json(nullptr)},
            {"ranks_on_this_machine", job.by_mpirun ? Json(job.local_size) : Json(nullptr)},
            {"threads_per_device", machine.threads_per_device}};
  for (const auto& [name, size] : cache_sizes()) json["caches"][name] = size;
  json["gpus"] = Json::array();
  for (const GpuInfo& gpu : gpus.list) {
    const auto number = static_cast<int>(json["gpus"].size());
    json["gpus"].push_back(gpu_json(gpu, number));
  }
  json["gpu_convolutions"] = gpus.list.empty() ? Json(nullptr) : Json(gpu_convolutions());
  json["nccl"] = gpus.list.empty() ? Json(nullptr) : Json(gpu_collectives());
  json["no_gpus"] = gpus.missing.empty() ? Json(nullptr) : Json(gpus.missing);
  return json;
}

void print_gpus(const Gpus& gpus) {
  if (!gpus.missing.empty()) fmt::print("  GPUs       none: {}\n", gpus.missing);
  for (std::size_t number = 0; number < gpus.list.size(); ++number) {
    const GpuInfo& gpu = gpus.list[number];
    if (!gpu.problem.empty()) {
      fmt::print("  GPU {}      not used: {}\n", number, gpu.problem);
      continue;
    }
    fmt::print("  GPU {}      {}, compute capability {}.{}, {} multiprocessors\n", number, gpu.name,
               gpu.capability / 10, gpu.capability % 10, gpu.multiprocessors);
    fmt::print(
        "             {}, of them {} free; {:.3g} TFLOP/s in float32, {}TensorFloat-32; reads the "
        "memory of {}{}\n",
        show_bytes(gpu.memory), show_bytes(gpu.free_memory), gpu.flops * 1e-12,
        gpu.has_tensor_float32 ? "" : "no ", join(reached(gpu), " "),
        gpu.is_shared_by_processes ? "" : "; not shared by processes: ranks go through the host");
    fmt::print("             products: {}\n", show_products(static_cast<int>(number)));
  }
  if (gpus.list.empty()) return;
  fmt::print("             convolutions, attention: {}\n", gpu_convolutions());
  fmt::print("             collectives: canonical; for 'collectives: nccl', {}\n",
             gpu_collectives());
}

void print_text(const DeviceDescription& machine, const Gpus& gpus) {
  const JobLaunch& job = machine.launch;
  fmt::print("this machine\n");
  fmt::print("  host       {}\n", machine.host);
  fmt::print("  processor  {}\n", machine.processor);
  fmt::print("  features   {}\n", join(machine.features, " "));
  fmt::print("  cores      {}\n", cores(machine));
  fmt::print("  memory     {}\n", memory(machine));
  fmt::print("  caches     {}\n", caches());
  print_gpus(gpus);
  fmt::print("this job\n");
  if (job.by_mpirun) {
    fmt::print("  ranks      {}, of them {} on this machine: one device each\n", job.size,
               job.local_size);
    fmt::print("  threads    {} per device\n", machine.threads_per_device);
  } else {
    fmt::print("  ranks      none: a mesh runs on virtual devices, one thread each\n");
    fmt::print("  threads    {} on one device; the cores are shared among several\n",
               machine.threads_per_device);
  }
}

Run add(Options& options) {
  const auto json = std::make_shared<bool>(false);
  options.add_flag("--json", "the same as JSON, sizes in bytes", *json);
  return [json] {
    const DeviceDescription machine = describe_devices();
    if (machine.launch.rank != 0) return ExitCode::kOk;
    const Gpus gpus = find_gpus();
    if (*json) {
      fmt::print("{}\n", json_dump(machine_json(machine, gpus), 2));
    } else {
      print_text(machine, gpus);
    }
    return ExitCode::kOk;
  };
}

}  // namespace

extern const Command kDevices{
    .name = "devices",
    .usage = "[options]",
    .summary = "what this machine and this job have",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
