// The memory that is planned for the devices that are unlike is that of all devices.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/thread.h"
#include "config/config.h"
#include "job/device_plans.h"
#include "job/memory_report.h"
#include "job/node_memory.h"
#include "machine/memory.h"
#include "support/training.h"
#include "train/fit.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

Job prepared(const std::string& file, const std::string& mesh) {
  Job job = make_job(config::load_config(file, {.mesh = mesh, .assignments = {}}), 0);
  prepare_fit(job);
  return job;
}

}  // namespace

TEST_CASE("the device that takes most is found among a few") {
  for (const auto& each :
       {std::pair("configs/uneven.yaml", "3x2"), std::pair("configs/uneven.yaml", "1x1"),
        std::pair("configs/uneven.yaml", "7x3"), std::pair("configs/tiles.yaml", "1x3x2"),
        std::pair("configs/tiles.yaml", "2x2x2"), std::pair("configs/tiles.yaml", "3x4x1")}) {
    const std::string file = each.first, mesh = each.second;
    CAPTURE(file);
    CAPTURE(mesh);
    const Job job = prepared(file, mesh);
    const PlannedMemory planned = planned_memory(job);
    const MemoryQuery query = memory_query(job);
    std::int64_t most = 0;
    for (int device = 0; device < job.mesh.num_devices(); ++device) {
      most = std::max(most, plan_device(job, device, query).arena_bytes);
    }
    CHECK(planned.use.bytes() == most);
    CHECK(plan_device(job, planned.device, query).arena_bytes == most);
  }
}

TEST_CASE("thousands of devices that are alike take the time of a few") {
  const Job job = prepared("configs/uneven.yaml", "4096x1");
  const DeviceKinds kinds(job.programs.begin()->second.partitioned, job.mesh);
  std::set<std::vector<std::int64_t>> all;
  for (int device = 0; device < job.mesh.num_devices(); ++device) {
    all.insert(kinds.kind_of(device));
  }
  CHECK(all.size() <= 2);
  CHECK(planned_memory(job).use.bytes() > 0);
}

TEST_CASE("what all devices of a node want more is held against its memory") {
  const Job job = prepared("configs/uneven.yaml", "3x1");
  const std::int64_t memory = available_memory();
  // Bytes that each of the three takes, and wants more.
  const auto has = [&](std::int64_t arena, std::int64_t more) {
    std::atomic<int> yes = 0;
    run_devices(3, [&](World& world) {
      if (have_node_memory(job, arena, more, *world.hosts)) ++yes;
    });
    CHECK((yes == 0 || yes == 3));
    return yes == 3;
  };
  CHECK(has(memory / 8, memory / 8));
  CHECK_FALSE(has(memory / 8, memory / 4));
  CHECK(has(memory / 8, 0));
}

namespace {

/// Attention with one head over so many steps.
std::string attention(std::int64_t steps) {
  return fmt::format(R"(
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [1, {0}, 8]}}, y: {{normal: [1, {0}, 8]}}}}}}}}
model:
  input: [{0}, 8]
  layers:
    - Dense: {{name: first, units: 8}}
    - MultiHeadAttention: {{num_heads: 1, key_dim: 8, use_causal_mask: true, inputs: [first, first]}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 1}}
)",
                     steps);
}

/// Lets peak_resident_bytes() count from now on, where the system can and no sanitizer keeps memory
/// of its own.
bool forget_peak() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good();
}

}  // namespace

TEST_CASE("a context of 8,192 steps trains in the memory that is planned for it") {
  train(attention(64), {.steps = 1});  // what libraries keep is there before
  Job job = job_of(attention(8192), "");
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  const std::int64_t planned = planned_memory(job).use.bytes();
  CHECK(planned < std::int64_t{32} << 20U);
  if (!forget_peak()) {
    MESSAGE("the most that was resident is not forgotten here");
    return;
  }
  const std::int64_t before = peak_resident_bytes();
  train(attention(8192), {.steps = 1});
  // Weights of all pairs of steps would take 256 MiB.
  CHECK(peak_resident_bytes() - before < planned + (std::int64_t{32} << 20U));
}
