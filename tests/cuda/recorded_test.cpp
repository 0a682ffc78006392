// Programs of several devices as recorded pieces: the bits of single launches, and what is said of
// devices that wait or fail within them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "data/loader.h"
#include "job/session.h"
#include "job/step_alone.h"
#include "support/errors.h"
#include "support/training.h"
#include "train/runner.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::test::contains;
using meshwork::test::error_of;

namespace {

/// Batches of 16, 16 and 2 samples: programs of two sizes take turns.
const std::string kText = R"(
device: cuda
mesh: {data: 1, model: 1}
layout_map: {'a/kernel': [null, model], 'b/kernel': [model, null]}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [34, 12]}, y: {integers: [34], below: 5}}}
model:
  input: [12]
  layers:
    - Dense: {name: a, units: 16, activation: gelu}
    - LayerNormalization: {name: n}
    - Dense: {name: b, units: 8, activation: tanh}
    - Dense: {name: c, units: 5}
compile:
  optimizer: {Adam: {learning_rate: 0.01}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
fit: {batch_size: 16}
)";

/// Training steps of one device.
class Steps {
 public:
  explicit Steps(Session& session)
      : runner_(session, ProgramKind::kTrain, session.job().split),
        loader_(session.job().split, {.batch_size = 16, .memory = runner_.staging_memory()},
                runner_.parts()) {
    session.initialize();
  }
  void operator()(int count) {
    for (int i = 0; i < count; ++i) runner_.step(loader_, step_++, 0.01);
    runner_.loss();
  }

 private:
  Runner runner_;
  data::Loader loader_;
  std::int64_t step_ = 0;
};

Job job_on(const std::string& mesh) {
  Job job = job_of(kText, mesh);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  return job;
}

/// Where the device stays for a while; "" where it gets on all the time.
std::string place_of(const Progress& progress) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    const Executable* const program = progress.program;
    const std::size_t step = progress.step;
    const std::uint64_t count = progress.count;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const bool stays = program == progress.program && step == progress.step;
    if (stays && program != nullptr && count == progress.count) return program->describe(step);
  }
  return "";
}

}  // namespace

TEST_CASE("GPU devices give the bits of single launches in recorded pieces") {
  for (const char* mesh : {"1x1", "2x1", "1x3", "2x2", "4x2"}) {
    CAPTURE(mesh);
    const Trajectory recorded = train(kText, {.mesh = mesh, .steps = 8});
    // Whose values are looked at one by one is never recorded.
    const Trajectory single =
        train("debug: {check_numerics: true}\n" + kText, {.mesh = mesh, .steps = 8});
    CHECK(recorded.losses == single.losses);
    CHECK(recorded.weights == single.weights);
    CHECK(recorded.digest == single.digest);
  }
}

TEST_CASE("a GPU device that waits for another is in the collective that waits") {
  const Job job = job_on("2x1");
  std::atomic<const Session*> waiting{nullptr};
  std::string place;
  const std::string error = error_of([&] {
    run_on_devices(job, [&](const World& world) {
      Session session(job, world);
      Steps steps(session);
      steps(6);
      if (session.is_first()) {
        waiting = &session;
        steps(1);
        return;
      }
      while (waiting == nullptr) std::this_thread::yield();
      place = place_of(waiting.load()->streams().progress);
      fail(ExitCode::kTraining, "has had enough");
    });
  });
  CHECK(contains(place, "all_reduce of '"));
  CHECK(contains(error, "has had enough"));
}

namespace {

/// The error of steps that go on until one fails.
std::string error_of_steps(const Job& job) {
  return error_of([&] {
    run_on_devices(job, [&](const World& world) {
      Session session(job, world);
      session.with_place_of_failure([&] {
        Steps steps(session);
        for (;;) steps(10);
      });
    });
  });
}

}  // namespace

// In a process of its own, where the emulated GPU fails: EMULATED_GPU_FAIL_LAUNCH=400.
TEST_CASE("a GPU that is lost within a recorded program says where it was" * doctest::skip()) {
  const std::string error = error_of_steps(job_on("2x1"));
  CAPTURE(error);
  CHECK(contains(error, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(contains(error, "; it had come to "));
}

TEST_CASE("a GPU times a device's share of a step by itself") {
  for (const char* mesh : {"1x1", "2x2"}) {
    Job job = job_of(kText, mesh);
    add_programs(job, ProgramKind::kTrain, job.split);
    const int last = job.mesh.num_devices() - 1;
    const TimeAlone time = time_alone(job, {ProgramKind::kTrain, 16}, last);
    CHECK(time.seconds > 0);
    CHECK(time.threads == 0);
  }
}
