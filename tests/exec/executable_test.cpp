// The order of two streams, by the events of the plan alone.
#include "exec/executable.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "base/check.h"
#include "base/names.h"
#include "comm/thread.h"
#include "support/errors.h"
#include "support/remote/stream.h"
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

using OnDevice = std::function<void(const Executable& executable, ProgramStreams& streams)>;

/// Binds a step of the model, whose plan `change` has changed, on two remote devices.
void on_two_devices(const std::function<void(Plan& plan)>& change, const OnDevice& use,
                    const std::string& text = kText,
                    const DeviceFactory& make_device = remote_devices()) {
  run_devices(2, [&](const World& world) {
    Job job = job_of(text, "2");
    job.target.threads = 1;
    const GlobalProgram program =
        compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 8);
    Plan plan = compile_for_device(program, job.mesh, world.hosts->rank(), memory_query(job));
    change(plan);
    const DeviceParts parts = make_device(job.target, world.devices);
    CommunicatorGroups groups(*parts.devices);
    Device& device = parts.backend->device();
    ProgramStreams streams(device);
    const auto arena = device.allocate(plan.arena_bytes);
    const Executable executable(plan, *parts.backend, streams, groups, arena.get());
    use(executable, streams);
    streams.drain();
    world.hosts->barrier();
  });
}

std::string error_of_run(const Executable& executable, ProgramStreams& streams) {
  RemoteEvent done;
  return error_of([&] {
    executable.run();
    streams.compute->record(done);
    done.wait();
  });
}

/// What two remote devices say to a step of the model whose plan `change` has changed.
std::set<std::string> errors_of(const std::function<void(Plan& plan)>& change) {
  std::set<std::string> errors;
  std::mutex mutex;
  on_two_devices(change, [&](const Executable& executable, ProgramStreams& streams) {
    const std::string error = error_of_run(executable, streams);
    const std::lock_guard lock(mutex);
    errors.insert(error);
  });
  return errors;
}

}  // namespace

/// Kernels of a CPU, each of which calls `before` when it is launched.
class WatchedBackend final : public Backend {
 public:
  explicit WatchedBackend(std::function<void()> before)
      : inner_(make_cpu_backend(1)), before_(std::move(before)) {}

  Device& device() const override { return inner_->device(); }
  const KernelDef* find(std::string_view op) const override { return inner_->find(op); }
  Launch bind(const KernelDef& kernel, const KernelArgs& args, Stream& stream) const override {
    return watched(inner_->bind(kernel, args, stream));
  }
  Launch bind_fusion(const FusionGroup& args, Stream& stream) const override {
    return watched(inner_->bind_fusion(args, stream));
  }
  std::int64_t fusion_workspace(const FusionGroup& args) const override {
    return inner_->fusion_workspace(args);
  }

 private:
  Launch watched(Launch launch) const {
    return [this, launch = std::move(launch)] {
      before_();
      launch();
    };
  }

  std::unique_ptr<Backend> inner_;
  std::function<void()> before_;
};

TEST_CASE("a CPU says that it computes as long as a kernel does") {
  std::atomic<int> kernels = 0, unsaid = 0;
  thread_local ProgramStreams* streams_of_thread = nullptr;
  const auto look = [&] {
    ++kernels;
    if (!streams_of_thread->progress.computes) ++unsaid;
  };
  const DeviceFactory make_device = [&](const Target&, std::shared_ptr<Communicator> hosts) {
    return DeviceParts{std::make_unique<WatchedBackend>(look), std::move(hosts)};
  };
  on_two_devices([](Plan&) {},
                 [&](const Executable& executable, ProgramStreams& streams) {
                   streams_of_thread = &streams;
                   executable.run();
                   CHECK_FALSE(streams.progress.computes);
                   executable.run([&](std::size_t) { CHECK_FALSE(streams.progress.computes); });
                 },
                 kText, make_device);
  CHECK(kernels > 4);
  CHECK(unsaid == 0);
}

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

TEST_CASE("from its second run on a program is enqueued in pieces between its collectives") {
  on_two_devices([](Plan&) {},
                 [](const Executable& executable, ProgramStreams& streams) {
                   const auto& compute = dynamic_cast<RemoteStream&>(*streams.compute);
                   const auto run = [&] {
                     const std::int64_t before = compute.enqueued();
                     executable.run();
                     return compute.enqueued() - before;
                   };
                   const std::int64_t single = run(), recorded = run();
                   CHECK(run() == recorded);
                   std::int64_t saved = 0, longest = 0, steps = 0;
                   for (const Executable::Step& step : executable.steps()) {
                     steps = step.call != nullptr ? 0 : steps + 1;
                     longest = std::max(longest, steps);
                     if (steps == 3) saved += 2;
                     if (steps > 3) ++saved;
                   }
                   CHECK(longest > 3);
                   const std::int64_t marks = 1;  // the first stands in a piece
                   CHECK(executable.steps().size() <= 32);
                   CHECK(single - recorded == saved + marks);
                 });
}

TEST_CASE("no input of a program may be left without what it is given") {
  const auto use = [](const Executable& executable, ProgramStreams&) {
    const Graph& program = executable.plan().program;
    check_inputs(program, {names::kFeatures, names::kLabels, names::kLearningRate});
    CHECK_THROWS_WITH_AS(check_inputs(program, {names::kLabels, "X"}),
                         doctest::Contains("nobody gives input 'x'"), CheckFailure);
  };
  on_two_devices([](Plan&) {}, use);
}

TEST_CASE("of a device that has failed the place in its program is told") {
  const auto use = [](const Executable& executable, ProgramStreams& streams) {
    auto& compute = dynamic_cast<RemoteStream&>(*streams.compute);
    CHECK(place_of_failure(streams).empty());
    CHECK(error_of_run(executable, streams).empty());
    CHECK(place_of_failure(streams).empty());
    REQUIRE(executable.steps().size() > 64);
    executable.run([&](std::size_t step) {
      if (step == 40) compute.enqueue("a kernel", {}, [] { fail("an illegal address"); });
    });
    streams.drain();
    CHECK(place_of_failure(streams) == "; it had come to " + executable.describe(32) +
                                           ", and not to " + executable.describe(64));
  };
  std::string text = kText + "fusion: false\n";
  text.replace(text.find("SGD"), 3, "Adam");
  on_two_devices([](Plan&) {}, use, text);
}

TEST_CASE("a device that fails behind its program was near the end of it") {
  on_two_devices([](Plan&) {},
                 [](const Executable& executable, ProgramStreams& streams) {
                   auto& compute = dynamic_cast<RemoteStream&>(*streams.compute);
                   for (int round = 0; round < 2; ++round)
                     CHECK(error_of_run(executable, streams).empty());
                   compute.enqueue("a kernel", {}, [] { fail("an illegal address"); });
                   streams.drain();
                   CHECK(place_of_failure(streams) == "; it had come to " + executable.describe(0) +
                                                          ", near the end of a program");
                 });
}
