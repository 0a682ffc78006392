// What a device takes of a GPU's memory is known before it runs.
#include <doctest/doctest.h>

#include <string>

#include "comm/thread.h"
#include "device/cuda_device.h"
#include "job/gpu_memory.h"
#include "job/memory_report.h"
#include "job/session.h"
#include "support/errors.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// A perceptron over stored samples of 30 KB and 4 KB, and others to evaluate on.
std::string text_of(const std::string& more = "", int units = 200) {
  return more + R"(
device: cuda
mesh: {data: 1}
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [250, 30]}, y: {normal: [250, 4]}}
    test: {x: {normal: [100, 30]}, y: {normal: [100, 4]}}
model:
  input: [30]
  layers:
    - Dense: {name: a, units: )" +
         std::to_string(units) + R"(, activation: tanh}
    - Dense: {name: b, units: 4}
compile: {optimizer: Adam, loss: mse}
fit: {batch_size: 32, validation: true}
)";
}

Job job_on(const std::string& text, const std::string& mesh) {
  Job job = job_of(text, mesh);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  add_programs(job, ProgramKind::kEvaluate, *job.validation);
  return job;
}

}  // namespace

TEST_CASE("a GPU gives the memory that is planned: arena, samples and collectives") {
  constexpr std::int64_t kSamples = 4 * 350 * 34;
  // Each allocation may take a little more than was asked for.
  constexpr std::int64_t kMost = 256 * 20;
  for (const char* mesh : {"1", "2"}) {
    CAPTURE(mesh);
    const Job job = job_on(text_of(), mesh);
    const MemoryUse planned = planned_memory(job).use;
    run_devices(job.mesh.num_devices(), [&](World& world) {
      const auto available = [&] {
        world.hosts->barrier();
        const int gpu = world.hosts->rank() % gpu_count();
        return gpu_memory(*make_cuda_device(gpu, {}))->available;
      };
      const std::int64_t before = available();
      const Session session(job, world);
      const MemoryUse use = session.memory();
      const std::int64_t taken = before - available();
      CHECK(use.bytes() == planned.bytes());  // all devices are alike
      CHECK(use.samples == kSamples);
      CHECK((use.collectives > 0) == (world.hosts->size() > 1));
      CHECK(use.bytes() == use.arena() + use.collectives + use.samples);
      // A real one gives pages, and takes some for code.
      const bool is_emulated = gpus()[0].name == "Emulated GPU";
      if (is_emulated && gpu_count() >= world.hosts->size()) {
        CHECK(taken >= use.bytes());
        CHECK(taken <= use.bytes() + kMost);
      }
      world.hosts->barrier();
    });
  }
}

TEST_CASE("a little of a GPU is left to its driver") {
  const Job job = job_on(text_of(), "1");
  const std::int64_t bytes = planned_memory(job).use.bytes();
  const auto error_with = [&](std::int64_t free) {
    const GpuMemory gpu{.bytes = std::int64_t{1} << 30U, .available = free};
    return test::error_of([&] {
      run_devices(1, [&](World& world) {
        check_gpu_memory(job, planned_memory(job).use, gpu, *world.hosts);
      });
    });
  };
  constexpr std::int64_t kLeft = 32 << 20U, kPages = 3 * (2 << 20U);
  CHECK(error_with(bytes + kLeft + kPages) == "");
  const std::string error = error_with(bytes + kLeft - 1);
  CHECK(error.find(" are free, of which 32.00 MiB are left to the driver; ") != std::string::npos);
}

TEST_CASE("what does not fit a GPU is told on all devices before anything is allocated") {
  const Job job = job_on(text_of("", 200000000), "4");
  const std::string error = test::error_of(
      [&] { run_devices(4, [&](World& world) { const Session session(job, world); }); });
  CAPTURE(error);
  const bool is_shared = gpu_count() < 4;
  CHECK(error.find(is_shared ? " devices on GPU 0 (of device 0) take "
                             : "the device on GPU 0 (of device 0) takes ") != std::string::npos);
  CHECK(error.starts_with("2: test.yaml: the "));
  CHECK(error.find(" for samples of the data, ") != std::string::npos);
  CHECK(error.find(" are left to the driver; take a smaller batch, ") != std::string::npos);
}

TEST_CASE("values are computed again to meet memory_limit beside all samples") {
  std::string text = text_of();
  const std::string first = "    - Dense: {name: a, ";
  std::string layers;
  for (int i = 0; i < 8; ++i) {
    layers += "    - Dense: {name: h" + std::to_string(i) + ", units: 100, activation: tanh}\n";
  }
  text.insert(text.find(first), layers);
  text.replace(text.find("batch_size: 32"), 14, "batch_size: 250");
  const MemoryUse use = planned_memory(job_on(text, "1")).use;
  const std::string limit = "memory_limit: " + std::to_string(use.bytes() - 1);
  const std::string error = test::error_of(
      [&] { CHECK(planned_memory(job_on(limit + text, "1")).use.bytes() < use.bytes()); });
  CHECK(error.empty());
}

TEST_CASE("memory_limit holds samples and collectives, too") {
  const Job free = job_on(text_of(), "2");
  const MemoryUse use = planned_memory(free).use;
  const auto limited = [&](std::int64_t bytes) {
    return test::error_of([&] {
      const std::string limit = "memory_limit: " + std::to_string(bytes);
      planned_memory(job_on(text_of(limit), "2"));
    });
  };
  CHECK(limited(use.bytes()).empty());
  const std::string error = limited(use.bytes() - 1);
  CAPTURE(error);
  CHECK(error.find("47600 for samples of the data, ") != std::string::npos);
  CHECK(error.find(" for collectives, ") != std::string::npos);
}
