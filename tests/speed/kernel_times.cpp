#include "speed/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"
#include "graph/flops.h"
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

/// Values of other instructions that this one reads.
std::set<ValueId> operands_of(const Graph& program, const Instruction& instruction) {
  std::set<ValueId> operands;
  for (const ValueId id : instruction.nodes) {
    const auto& inputs = program.node(id).inputs;
    operands.insert(inputs.begin(), inputs.end());
  }
  for (const ValueId id : instruction.nodes) operands.erase(id);
  return operands;
}

/// "[128, 784] [784, 128] -> [128, 128]", "6 joined", or the ops of a chain.
std::string shapes_of(const Graph& program, const Instruction& instruction) {
  constexpr std::size_t kShownOps = 6;
  const Node& first = program.node(instruction.nodes.front());
  const std::string result = "-> " + meshwork::to_string(first.type.shape);
  const std::size_t nodes = instruction.nodes.size();
  std::string text;
  if (nodes == 1) {
    for (const TensorType& input : input_types(program, first)) {
      text += meshwork::to_string(input.shape) + " ";
    }
    return text + result;
  }
  if (first.op->collective != Collective::kNone) return fmt::format("{} joined", nodes);
  for (std::size_t i = 0; i < std::min(nodes, kShownOps); ++i) {
    text += fmt::format("{} ", program.node(instruction.nodes[i]).op->name);
  }
  if (nodes > kShownOps) text += fmt::format("and {} more ", nodes - kShownOps);
  return text + result;
}

/// A kernel as the plan has it, without its time.
KernelTime describe(const Plan& plan, const Instruction& instruction) {
  const Graph& program = plan.program;
  const Node& first = program.node(instruction.nodes.front());
  KernelTime time;
  time.is_collective = first.op->collective != Collective::kNone;
  const bool is_chain = instruction.nodes.size() > 1 && !time.is_collective;
  time.op = is_chain ? "chain" : first.op->name;
  time.path = first.path;
  time.shapes = shapes_of(program, instruction);
  for (const ValueId id : operands_of(program, instruction)) {
    time.bytes += static_cast<double>(num_bytes(program.type(id)));
  }
  for (const ValueId id : instruction.nodes) {
    const bool has_place = plan.offsets[static_cast<std::size_t>(id)] != Plan::kNoPlace;
    if (has_place) time.bytes += static_cast<double>(num_bytes(program.type(id)));
    if (!time.is_collective) time.flops += flops_of(program, program.node(id));
  }
  return time;
}

/// The copy into a variable after the last instruction.
KernelTime describe_copy(const Graph& program, ValueId variable) {
  const TensorType& type = program.type(variable);
  return {.op = "copy",
          .path = program.node(variable).path,
          .shapes = meshwork::to_string(type.shape),
          .bytes = 2 * static_cast<double>(num_bytes(type))};
}

std::vector<KernelTime> describe_steps(const Executable& executable) {
  const Plan& plan = executable.plan();
  std::map<ValueId, const Instruction*> instructions;
  for (const Instruction& instruction : plan.instructions) {
    // The end of a collective goes by the values of its start.
    if (instruction.nodes.empty()) continue;
    instructions.emplace(instruction.nodes.front(), &instruction);
  }
  std::vector<KernelTime> times;
  for (const Executable::Step& step : executable.steps()) {
    const auto found = instructions.find(step.value);
    times.push_back(found == instructions.end() ? describe_copy(plan.program, step.value)
                                                : describe(plan, *found->second));
  }
  return times;
}

/// As steps are timed: the median of means, which take in what else the machine does.
std::vector<double> medians_of_means(const std::vector<std::vector<double>>& samples) {
  constexpr std::size_t kMeans = 7;
  std::vector<double> result;
  for (const auto& of_one : samples) {
    std::vector<double> means;
    for (std::size_t i = 0; i < kMeans; ++i) {
      const auto begin = of_one.begin() + static_cast<std::ptrdiff_t>(of_one.size() * i / kMeans);
      const auto end =
          of_one.begin() + static_cast<std::ptrdiff_t>(of_one.size() * (i + 1) / kMeans);
      if (begin != end) means.push_back(std::accumulate(begin, end, 0.0) / (end - begin));
    }
    result.push_back(median(means));
  }
  return result;
}

/// Seconds of each step by itself.
std::vector<double> time_alone(const Executable& executable, Communicator& world,
                               const std::vector<KernelTime>& times, double seconds) {
  constexpr double kSampleSeconds = 200e-6;
  constexpr double kMostCalls = 50;
  constexpr double kFewestPasses = 3;
  constexpr double kMostPasses = 200;
  const auto& steps = executable.steps();
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
  return medians_of_means(samples);
}

/// Seconds of each step between the others, and last of the input.
std::vector<double> time_in_steps(const Executable& executable, Communicator& world, double seconds,
                                  const std::function<void()>& fill) {
  constexpr double kFewestPasses = 5;
  constexpr double kMostPasses = 2000;
  const auto& steps = executable.steps();
  std::vector<std::vector<double>> samples(steps.size() + 1);
  const auto pass = [&] {
    auto before = Clock::now();
    const auto add = [&](std::size_t i) {
      const auto now = Clock::now();
      samples[i].push_back(std::chrono::duration<double>(now - before).count());
      before = now;
    };
    fill();
    add(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].launch();
      for (PreparedCall* call : steps[i].under_way) call->poll();
      add(i);
    }
  };
  pass();
  for (auto& of_one : samples) of_one.clear();
  world.barrier();
  const auto start = Clock::now();
  pass();
  const double once = std::chrono::duration<double>(Clock::now() - start).count();
  std::int64_t passes = std::llround(std::clamp(seconds / once, kFewestPasses, kMostPasses));
  world.broadcast(&passes, sizeof passes, 0);
  for (std::int64_t i = 0; i < passes; ++i) pass();
  world.barrier();
  return medians_of_means(samples);
}

}  // namespace

ProgramTimes time_program(const Executable& executable, Communicator& world, double seconds,
                          const std::function<void()>& fill) {
  ProgramTimes times{describe_steps(executable)};
  const std::vector<double> in_steps = time_in_steps(executable, world, seconds / 4, fill);
  const std::vector<double> alone = time_alone(executable, world, times.kernels, seconds * 3 / 4);
  for (std::size_t i = 0; i < times.kernels.size(); ++i) {
    times.kernels[i].seconds = alone[i];
    times.kernels[i].step_seconds = in_steps[i];
  }
  times.input_seconds = in_steps.back();
  return times;
}

}  // namespace meshwork::speed
