#include "speed/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"
#include "graph/op_def.h"
#include "speed/step_times.h"

namespace meshwork::speed {
namespace {

using Clock = std::chrono::steady_clock;

/// Mean seconds of a call.
double seconds_of(const Launch& launch, std::int64_t calls) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) launch();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
}

/// A kernel as the program names it, without times.
KernelTime describe(const Graph& program, ValueId value) {
  const Node& node = program.node(value);
  KernelTime time;
  time.op = node.op->name;
  time.path = node.path;
  time.is_collective = node.op->collective != Collective::kNone;
  const auto inputs = input_types(program, node);
  for (const TensorType& input : inputs) {
    time.shapes += meshwork::to_string(input.shape) + " ";
    time.bytes += static_cast<double>(num_bytes(input));
  }
  time.shapes += "-> " + meshwork::to_string(node.type.shape);
  time.bytes += static_cast<double>(num_bytes(node.type));
  if (node.op->flops != nullptr) {
    time.flops = node.op->flops({.inputs = inputs, .attrs = node.attrs, .output = node.type});
  }
  return time;
}

std::vector<KernelTime> describe_steps(const Executable& executable) {
  const Plan& plan = executable.plan();
  std::vector<KernelTime> times;
  for (const Executable::Step& step : executable.steps()) {
    times.push_back(describe(plan.program, step.value));
    const auto of_step = [&](const Instruction& i) { return i.nodes.front() == step.value; };
    const auto found = std::find_if(plan.instructions.begin(), plan.instructions.end(), of_step);
    if (found == plan.instructions.end()) {
      times.back().op = "copy";
      times.back().bytes *= 2;
    } else if (found->nodes.size() > 1) {
      times.back().shapes = fmt::format("{} joined", found->nodes.size());
    }
  }
  return times;
}

}  // namespace

std::vector<KernelTime> time_kernels(const Executable& executable, Communicator& world,
                                     double seconds) {
  constexpr double kSampleSeconds = 200e-6;
  constexpr double kMostCalls = 50;
  constexpr double kFewestPasses = 3;
  constexpr double kMostPasses = 25;
  const auto& steps = executable.steps();
  std::vector<KernelTime> times = describe_steps(executable);
  std::vector<std::int64_t> calls(steps.size(), 1);
  std::vector<std::vector<double>> samples(steps.size());
  // Every pass computes all values anew, so that those of kernels that work in place stay usual
  // numbers. Devices meet in collectives, once in each pass, and start those together.
  const auto pass = [&] {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (times[i].is_collective) {
        world.barrier();
      } else {
        steps[i].launch();  // brings the operands into the caches
      }
      samples[i].push_back(seconds_of(steps[i].launch, calls[i]));
    }
  };

  pass();
  double pass_seconds = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double once = samples[i].front();
    if (!times[i].is_collective) {
      calls[i] = std::llround(std::clamp(kSampleSeconds / std::max(once, 1e-9), 1.0, kMostCalls));
    }
    pass_seconds += once * static_cast<double>(calls[i] + 1);
    samples[i].clear();
  }
  std::int64_t passes =
      std::llround(std::clamp(seconds / pass_seconds, kFewestPasses, kMostPasses));
  world.broadcast(&passes, sizeof passes, 0);
  for (std::int64_t i = 0; i < passes; ++i) pass();
  for (std::size_t i = 0; i < steps.size(); ++i) times[i].seconds = median(samples[i]);
  return times;
}

}  // namespace meshwork::speed
