// What the benchmark of steps counts; how long anything takes is not for tests.
#include <doctest/doctest.h>

#include <algorithm>

#include "speed/fma_peak.h"
#include "speed/report.h"
#include "support/training.h"
#include "train/trainer.h"

using namespace meshwork;

namespace {

/// Two layers on two devices that share batches of 8.
constexpr const char* kConfig = R"(
mesh: {data: 2}
dataset:
  name: numbers
  format: synthetic
  splits: {train: {x: {normal: [40, 6]}, y: {integers: [40], below: 3}}}
model:
  input: [6]
  layers:
    - Dense: {name: hidden, units: 5, activation: relu}
    - Dense: {name: logits, units: 3}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8, drop_remainder: true}
)";

speed::Report measure(const Job& job, const World& world) {
  Session session(job, world);
  session.initialize();
  Runner runner(session, ProgramKind::kTrain, job.split);
  data::Loader loader(job.split, training_options(job), runner.parts());
  speed::Report report;
  report.config = "numbers.yaml";
  report.batch = 8;
  speed::StepTimer steps(session, runner, loader, 0.001);
  speed::ProgramTimer program(session.executable({ProgramKind::kTrain, 8}), *world.hosts, 0.001,
                              steps.samples(), [&] { runner.fill(loader); });
  for (std::int64_t i = 0; i < steps.samples(); ++i) {
    steps.sample();
    program.sample();
  }
  report.step = steps.times();
  report.program = program.times();
  report.peak = speed::fma_peak(1);
  return report;
}

speed::Report report_of_first_device() {
  Job job = testing::job_of(kConfig, "");
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  speed::Report report;
  run_on_devices(job, [&](const World& world) {
    const speed::Report mine = measure(job, world);
    if (world.hosts->rank() == 0) report = mine;
  });
  return report;
}

}  // namespace

TEST_CASE("steps and kernels of a configuration are timed") {
  const speed::Report report = report_of_first_device();
  CHECK(report.step.from_loader.size() == report.step.from_memory.size());
  CHECK(report.step.from_loader.size() >= 3);
  const auto is_timed = [](double seconds) { return seconds > 0; };
  CHECK(std::all_of(report.step.from_loader.begin(), report.step.from_loader.end(), is_timed));

  // The products of a device, forward and backward, but for the gradient of the images: [4, 6]
  // [6, 5], [4, 5] [5, 3] twice over.
  double products = 0;
  int collectives = 0;
  for (const speed::KernelTime& kernel : report.program.kernels) {
    CHECK(kernel.seconds > 0);
    CHECK(kernel.step_seconds > 0);
    if (kernel.op == "einsum") products += kernel.flops;
    if (kernel.is_collective) ++collectives;
  }
  CHECK(products == 2 * (4 * 6 * 5) * 2 + 2 * (4 * 5 * 3) * 3);
  CHECK(collectives >= 1);
  CHECK(report.program.input_seconds > 0);
  CHECK(report.peak > 1e8);
}

TEST_CASE("a report sums up kernels and names the slowest") {
  speed::Report report;
  report.batch = 10;
  report.step = {.from_loader = {0.3, 0.1, 0.2}, .from_memory = {0.1, 0.1, 0.1}, .steps = 1};
  report.peak = 1000;
  report.program.kernels = {{.op = "einsum", .seconds = 0.05, .flops = 30},
                            {.op = "all_reduce", .is_collective = true, .seconds = 0.01},
                            {.op = "einsum", .path = "slow", .seconds = 0.1, .flops = 70}};
  const auto json = to_json(report, 1);
  CHECK(json["step"]["median"] == 0.2);
  CHECK(json["samples_per_second"] == doctest::Approx(50));
  const auto& kernels = json["kernels"];
  CHECK(kernels["seconds"].get<double>() == doctest::Approx(0.15));
  CHECK(kernels["communication_seconds"].get<double>() == doctest::Approx(0.01));
  CHECK(kernels["share_of_step"].get<double>() == doctest::Approx(0.8));
  CHECK(kernels["share_of_peak"].get<double>() == doctest::Approx(0.5));
  CHECK(kernels["by_op"]["einsum"].get<double>() == doctest::Approx(0.15));
  REQUIRE(kernels["top"].size() == 1);
  CHECK(kernels["top"][0]["path"] == "slow");
}
