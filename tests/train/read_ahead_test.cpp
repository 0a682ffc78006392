// Batches that are read while threads of a device are idle.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <mutex>

#include "support/training.h"
#include "train/runner.h"

using namespace meshwork;
using meshwork::testing::job_of;

namespace {

/// Its layers are too small for several threads: the others are idle.
std::string text_of(const std::string& optimizer, const std::string& layout) {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{{}}}
dataset:
  name: t
  format: synthetic
  cache: true
  splits:
    train: {{x: {{normal: [500, 5, 8]}}, y: {{integers: [500], below: 10}}}}
model:
  input: [5, 8]
  layers:
    - Flatten:
    - Dense: {{name: a, units: 48, activation: relu}}
    - Dense: {{name: b, units: 48, activation: tanh}}
    - Dense: {{name: c, units: 10}}
compile: {{optimizer: {}, loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}},
          metrics: [accuracy]}}
fit: {{batch_size: 96, shuffle: true}}
)",
                     layout, optimizer);
}

struct Outcome {
  std::uint64_t digest = 0;
  std::vector<double> losses;
  bool reads_ahead = false;
};

/// Trains for 14 steps of batches of 96, the sixth of each pass one of 20. `evaluates`: now and
/// then another program runs over the same arena.
Outcome train(const std::string& text, const std::string& mesh, int threads, bool evaluates) {
  Job job = job_of(text, mesh);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.train.samples);
  add_programs(job, ProgramKind::kEvaluate, job.train.samples);
  Outcome outcome;
  std::mutex mutex;
  run_on_devices(job, [&](DeviceContext& context) {
    context.threads = threads;
    Session session(job, context);
    session.initialize();
    Runner runner(session, ProgramKind::kTrain, job.train);
    Runner evaluation(session, ProgramKind::kEvaluate, job.train);
    data::Loader loader(job.train, {.batch_size = 96, .shuffle = true, .seed = 3}, runner.parts());
    data::Loader others(job.train, evaluation.in_order(), evaluation.parts());
    std::vector<double> losses;
    for (std::int64_t step = 0; step < 14; ++step) {
      runner.step(loader, step, 0.01);
      losses.push_back(runner.loss());
      if (evaluates && step % 3 == 1) evaluation.step(others);
    }
    const std::uint64_t digest = session.weights_digest();
    const std::lock_guard lock(mutex);
    if (session.is_first()) outcome = {digest, losses, runner.reads_ahead()};
  });
  return outcome;
}

}  // namespace

TEST_CASE("reading ahead changes no bit, whatever else runs") {
  for (const char* optimizer :
       {"{Adam: {}}", "{SGD: {momentum: 0.9}}", "{Adam: {gradient_accumulation_steps: 3}}"}) {
    const std::string text = text_of(optimizer, "");
    CAPTURE(optimizer);
    const Outcome expected = train(text, "1x1", 1, false);
    CHECK(!expected.reads_ahead);
    for (const int threads : {2, 3}) {
      for (const bool evaluates : {false, true}) {
        CAPTURE(threads);
        CAPTURE(evaluates);
        const Outcome found = train(text, "1x1", threads, evaluates);
        // Where gradients are accumulated, two programs may want their input in different places.
        CHECK((found.reads_ahead || text.find("accumulation") != std::string::npos));
        CHECK(found.losses == expected.losses);
        CHECK(found.digest == expected.digest);
      }
    }
  }
}

TEST_CASE("devices read their parts ahead, but nothing that a collective sends") {
  const std::string sharded = text_of("{Adam: {}}", "'b/kernel': [null, model]");
  const Outcome one = train(sharded, "2x2", 1, false);
  const Outcome two = train(sharded, "2x2", 2, true);
  CHECK(two.reads_ahead);
  CHECK(two.digest == one.digest);
  CHECK(two.losses == one.losses);
}
