// The order of two streams, by the events of the plan alone.
#include "exec/executable.h"

#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <string>

#include "comm/thread.h"
#include "support/errors.h"
#include "support/remote_device.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::test::contains;
using meshwork::test::error_of;

namespace {

const std::string kText = R"(
mesh: {data: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [8, 6]}, y: {normal: [8, 3]}}}
model:
  input: [6]
  layers:
    - Dense: {name: a, units: 5, activation: tanh}
    - Dense: {name: b, units: 3}
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: mse}
fit: {batch_size: 8}
)";

/// What two remote devices say to a step of the model whose plan `change` has changed.
std::set<std::string> errors_of(const std::function<void(Plan& plan)>& change) {
  std::set<std::string> errors;
  std::mutex mutex;
  run_devices(2, [&](const World& world) {
    Job job = job_of(kText, "2");
    job.target.threads = 1;
    const GlobalProgram program =
        compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 8);
    Plan plan = compile_for_device(program, job.mesh, world.hosts->rank(), workspace_of(job));
    change(plan);
    const DeviceParts parts = remote_devices()(job.target, world.devices);
    CommunicatorGroups groups(*parts.devices);
    Device& device = parts.backend->device();
    ProgramStreams streams(device);
    const auto arena = device.allocate(plan.arena_bytes);
    const Executable executable(plan, *parts.backend, streams, groups, arena.get());
    const auto done = device.make_event();
    const std::string error = error_of([&] {
      executable.run();
      streams.compute->record(*done);
      done->wait();
    });
    streams.drain();
    world.hosts->barrier();
    const std::lock_guard lock(mutex);
    errors.insert(error);
  });
  return errors;
}

}  // namespace

TEST_CASE("the events of a plan order all that its streams share") {
  CHECK(errors_of([](Plan&) {}) == std::set<std::string>{""});
}

TEST_CASE("a reader that does not wait for its collective is found") {
  const auto errors = errors_of([](Plan& plan) {
    for (Instruction& instruction : plan.instructions) {
      if (instruction.kind != Instruction::Kind::kFinish) continue;
      instruction.done = plan.instructions[static_cast<std::size_t>(instruction.started)].ready;
    }
  });
  for (const std::string& error : errors) {
    CHECK(contains(error, "no event orders"));
    CHECK(contains(error, "behind 'collective'"));
  }
}
