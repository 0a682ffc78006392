#include "speed/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "base/check.h"
#include "graph/flops.h"
#include "graph/op_def.h"
#include "plan/pass_constants.h"
#include "speed/step_times.h"

namespace meshwork::speed {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Mean seconds of a call.
double seconds_of(const Launch& launch, std::int64_t calls) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) launch();
  return seconds_since(start) / static_cast<double>(calls);
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

/// "[128, 784] [784, 128] -> [128, 128]", "6 joined", or the ops of a fusion group.
std::string shapes_of(const Graph& program, const Instruction& instruction) {
  constexpr std::size_t kShownOps = 6;
  const Node& first = program.node(first_result(program, instruction));
  const std::string result = "-> " + meshwork::to_string(first.type.shape);
  std::vector<std::string_view> ops;
  for (const ValueId id : instruction.nodes) {
    if (!program.node(id).op->is_constant) ops.push_back(program.node(id).op->name);
  }
  std::string text;
  if (instruction.nodes.size() == 1) {
    for (const TensorType& input : input_types(program, first)) {
      text += meshwork::to_string(input.shape) + " ";
    }
    return text + result;
  }
  if (first.op->collective != Collective::kNone) return fmt::format("{} joined", ops.size());
  for (std::size_t i = 0; i < std::min(ops.size(), kShownOps); ++i) {
    text += fmt::format("{} ", ops[i]);
  }
  if (ops.size() > kShownOps) text += fmt::format("and {} more ", ops.size() - kShownOps);
  return text + result;
}

/// A kernel as the plan has it, without its time.
KernelTime describe(const Plan& plan, const Instruction& instruction) {
  const Graph& program = plan.program;
  const Node& first = program.node(first_result(program, instruction));
  KernelTime time;
  time.is_collective = first.op->collective != Collective::kNone;
  const bool is_fusion = instruction.nodes.size() > 1 && !time.is_collective;
  time.op = is_fusion ? "fusion" : first.op->name;
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
    instructions.emplace(first_result(plan.program, instruction), &instruction);
  }
  std::vector<KernelTime> times;
  for (const Executable::Step& step : executable.steps()) {
    const auto found = instructions.find(step.value);
    times.push_back(found == instructions.end() ? describe_copy(plan.program, step.value)
                                                : describe(plan, *found->second));
  }
  return times;
}

/// How often something that takes `once` fits into `seconds`; the same for all devices.
std::int64_t passes_for(HostGroup& world, double seconds, double once, double fewest, double most) {
  std::int64_t passes = std::llround(std::clamp(seconds / once, fewest, most));
  world.broadcast(&passes, sizeof passes, 0);
  return passes;
}

void add_means(const std::vector<double>& sums, std::int64_t count,
               std::vector<std::vector<double>>& means) {
  means.resize(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    means[i].push_back(sums[i] / static_cast<double>(count));
  }
}

}  // namespace

ProgramTimer::ProgramTimer(const Executable& executable, HostGroup& world, double seconds,
                           std::int64_t samples, std::function<void()> fill)
    : executable_(executable),
      world_(world),
      fill_(std::move(fill)),
      seconds_(seconds / static_cast<double>(samples)),
      kernels_(describe_steps(executable)),
      calls_(kernels_.size(), 1) {}

void ProgramTimer::sample() {
  constexpr double kInSteps = 0.25;  // of the time
  time_in_steps(seconds_ * kInSteps);
  time_alone(seconds_ * (1 - kInSteps));
}

/// Every pass computes all values anew, so that those of kernels that work in place stay usual
/// numbers. Devices meet in collectives, once in each pass, and start those together.
void ProgramTimer::pass(std::vector<double>& sums) const {
  const auto& steps = executable_.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (kernels_[i].is_collective) {
      world_.barrier();
    } else {
      steps[i].launch();  // brings the operands into the caches
    }
    sums[i] += seconds_of(steps[i].launch, calls_[i]);
  }
}

void ProgramTimer::time_alone(double seconds) {
  constexpr double kMostPasses = 50;
  std::vector<double> sums(kernels_.size(), 0.0);
  if (alone_.empty()) choose_calls();
  const auto start = Clock::now();
  pass(sums);
  const std::int64_t more = passes_for(world_, seconds, seconds_since(start), 1, kMostPasses) - 1;
  for (std::int64_t i = 0; i < more; ++i) pass(sums);
  add_means(sums, 1 + more, alone_);
}

/// So many calls that the clock does not count.
void ProgramTimer::choose_calls() {
  constexpr double kSampleSeconds = 200e-6;
  constexpr double kMostCalls = 50;
  std::vector<double> once(kernels_.size(), 0.0);
  pass(once);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].is_collective) continue;
    calls_[i] = std::llround(std::clamp(kSampleSeconds / std::max(once[i], 1e-9), 1.0, kMostCalls));
  }
}

void ProgramTimer::step(std::vector<double>& sums) const {
  const auto& steps = executable_.steps();
  auto before = Clock::now();
  const auto add = [&](std::size_t i) {
    const auto now = Clock::now();
    sums[i] += std::chrono::duration<double>(now - before).count();
    before = now;
  };
  fill_();
  add(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].launch();
    for (PreparedCall* call : steps[i].under_way) call->poll();
    add(i);
  }
}

void ProgramTimer::time_in_steps(double seconds) {
  constexpr double kMostPasses = 500;
  std::vector<double> sums(kernels_.size() + 1, 0.0);
  step(sums);
  std::fill(sums.begin(), sums.end(), 0.0);
  world_.barrier();
  const auto start = Clock::now();
  step(sums);
  const std::int64_t more = passes_for(world_, seconds, seconds_since(start), 1, kMostPasses) - 1;
  for (std::int64_t i = 0; i < more; ++i) step(sums);
  world_.barrier();
  add_means(sums, 1 + more, in_steps_);
}

ProgramTimes ProgramTimer::times() const {
  ProgramTimes times{kernels_};
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    times.kernels[i].seconds = median(alone_[i]);
    times.kernels[i].step_seconds = median(in_steps_[i]);
  }
  times.input_seconds = median(in_steps_.back());
  return times;
}

}  // namespace meshwork::speed
