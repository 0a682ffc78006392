// What the compiler makes of another machine.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "graph/views.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// A classifier with a product that a CPU splits, on two devices that add up its gradients.
const char* const kText = R"(
mesh: {data: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [128, 600]}, y: {integers: [128], below: 10}}}
model: {input: [600], layers: [Dense: {units: 128, activation: relu}, Dense: {units: 10}]}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 128}
)";

Plan plan_for(const Target& target, const std::string& more = "") {
  Job job = job_of(kText + more, "");
  job.target = target;
  add_program(job, ProgramKind::kTrain, 128);
  return compile_for_device(job.programs.begin()->second, job.mesh, 0, {});
}

std::int64_t count(const Plan& plan, std::string_view op, std::size_t rank) {
  return std::ranges::count_if(plan.program.nodes, [&](const Node& node) {
    return node.op->name == op && node.type.shape.size() == rank;
  });
}

std::int64_t starts(const Plan& plan) {
  return std::ranges::count(plan.instructions, Instruction::Kind::kStart, &Instruction::kind);
}

std::size_t longest(const Plan& plan) {
  std::size_t most = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::kKernel) {
      const auto computes = [&](ValueId id) { return !plan.program.node(id).op->is_constant; };
      most = std::max(most,
                      static_cast<std::size_t>(std::ranges::count_if(instruction.nodes, computes)));
    }
  }
  return most;
}

/// Of all that does not show a part of another value.
bool is_aligned(const Plan& plan, std::int64_t alignment) {
  for (const ValueId id : plan.program.ids()) {
    const bool is_placed = !is_view(plan.program, id) && plan.offsets[id] != Plan::kNoPlace;
    if (is_placed && plan.offsets[id] % alignment != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a CPU fuses, splits and joins what pays there") {
  const Plan plan = plan_for(cpu_target(1));
  CHECK(count(plan, "einsum", 3) == 1);
  CHECK(count(plan, "crossentropy", 1) == 1);
  CHECK(longest(plan) > 3);
  CHECK(starts(plan) == 1);
  CHECK(is_aligned(plan, 64));
  CHECK_FALSE(is_aligned(plan, 4096));
}

TEST_CASE("values begin where the target wants them") {
  Target target = cpu_target(1);
  target.alignment = 4096;
  const Plan plan = plan_for(target);
  CHECK(is_aligned(plan, 4096));
  CHECK(plan.variable_bytes % 4096 == 0);
}

TEST_CASE("a small cache splits no product, a small fusion ends early") {
  Target target = cpu_target(1);
  target.cache /= 8;
  target.longest_fusion = 3;
  const Plan plan = plan_for(target);
  CHECK(count(plan, "einsum", 3) == 0);
  CHECK(longest(plan) == 3);
}

TEST_CASE("members that nothing fills have every gradient go by itself") {
  Target target = cpu_target(1);
  target.small_message = 0;
  target.bucket = 0;
  CHECK(starts(plan_for(target)) > 4);
}

TEST_CASE("a fusion is done where it pays, unless the file says otherwise") {
  Target target = cpu_target(1);
  target.fusions = {};
  const Plan plan = plan_for(target);
  CHECK(longest(plan) == 1);
  CHECK(count(plan, "crossentropy", 1) == 0);
  CHECK(count(plan_for(target, "fusion: {crossentropy: true}"), "crossentropy", 1) == 1);
  CHECK(count(plan_for(cpu_target(1), "fusion: {crossentropy: false}"), "crossentropy", 1) == 0);
}

TEST_CASE("no fusion makes an op that the device has no kernel for") {
  Target target = cpu_target(1);
  CHECK(target.kernels.erase("crossentropy_gradient") == 1);
  CHECK(count(plan_for(target, "fusion: {crossentropy: true}"), "crossentropy", 1) == 0);
}

TEST_CASE("the updates of weights are one launch where a launch is worth the memory of gradients") {
  const auto passes = [](const std::string& mesh, std::int64_t launch_bytes) {
    Job job = job_of(kText, mesh);
    job.target = cpu_target(1);
    job.target.cache = 0;  // products stand alone
    job.target.bucket = 1;
    job.target.fusions.insert("horizontal");
    job.target.launch_bytes = launch_bytes;
    add_program(job, ProgramKind::kTrain, 128);
    std::vector<int> counts;
    for (const Instruction& instruction :
         compile_for_device(job.programs.begin()->second, job.mesh, 0, {}).instructions) {
      if (instruction.passes > 1) counts.push_back(instruction.passes);
    }
    return counts;
  };
  constexpr std::int64_t kGradients = 600 * 128 * 4 + 128 * 10 * 4 + 2048;
  CHECK(passes("1", kGradients) == std::vector{4});
  // Of each layer the gradient of the bias waits for the other.
  CHECK(passes("1", 1024) == std::vector{2, 2});
  CHECK(passes("1", 0).empty());
}

TEST_CASE("a program says for which target it is, but not for how many threads") {
  CHECK(to_string(cpu_target(1)) == to_string(cpu_target(8)));
  Target target = cpu_target(1);
  target.cache /= 2;
  CHECK(to_string(target) != to_string(cpu_target(1)));
  Target rounds = cpu_target(1);
  rounds.tensor_float32 = true;
  CHECK(to_string(rounds) != to_string(cpu_target(1)));
  Target other_sums = cpu_target(1);
  other_sums.nccl = true;
  CHECK(to_string(other_sums) != to_string(cpu_target(1)));
}

TEST_CASE("that TensorFloat-32 was asked for in vain is a note") {
  const auto notes = [](const std::string& more, bool has_it) {
    Job job = job_of(kText + more, "");
    job.target.tensor_float32 = has_it;
    add_program(job, ProgramKind::kTrain, 128);
    return job.programs.begin()->second.notes;
  };
  CHECK(!job_of(kText + std::string("tensor_float_32: true\n"), "").target.tensor_float32);
  REQUIRE(notes("tensor_float_32: true\n", false).size() == 1);
  CHECK(notes("tensor_float_32: true\n", false)[0] ==
        "tensor_float_32: true has no effect on a CPU, which computes products of whole float32");
  CHECK(notes("tensor_float_32: true\n", true).empty());
  CHECK(notes("", false).empty());
}

TEST_CASE("that NCCL was asked for in vain is a note") {
  const auto notes = [](bool has_it) {
    Job job = job_of(kText + std::string("collectives: nccl\n"), "");
    CHECK(!job.target.nccl);
    job.target.nccl = has_it;
    add_program(job, ProgramKind::kTrain, 128);
    return job.programs.begin()->second.notes;
  };
  REQUIRE(notes(false).size() == 1);
  CHECK(notes(false)[0] ==
        "collectives: nccl has no effect on a CPU, whose devices add in the canonical order");
  CHECK(notes(true).empty());
}

TEST_CASE("a pattern of exclude_from_weight_decay that hits nothing is a note") {
  const auto notes = [](const std::string& patterns) {
    std::string text = kText;
    const std::string adam = "optimizer: adam";
    text.replace(text.find(adam), adam.size(),
                 "optimizer: {AdamW: {exclude_from_weight_decay: " + patterns + "}}");
    Job job = job_of(text, "");
    add_program(job, ProgramKind::kTrain, 128);
    return job.programs.begin()->second.notes;
  };
  CHECK(notes("[bias, ern]").empty());
  const std::vector<std::string> found = notes("[bias, gamma, kernle]");
  REQUIRE(found.size() == 2);
  CHECK(found[0].ends_with(
      ": exclude_from_weight_decay: 'gamma' matches the name of no variable; known: 'bias', "
      "'kernel'"));
  CHECK(found[1].ends_with(
      ": exclude_from_weight_decay: 'kernle' matches the name of no variable; nearest: 'kernel'"));
}
