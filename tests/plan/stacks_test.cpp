// Stacks of products: which products are one, and that their matrices stand at equal distances.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compile.h"
#include "graph/op_def.h"
#include "support/ops_by_name.h"
#include "support/text/parse.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// A CPU that computes stacks.
Target stacking_target() {
  Target target = cpu_target(1);
  target.cache = 0;  // products stand alone
  target.stacked.insert({"einsum", "einsum_bias"});
  target.fusions.insert({"stacks", "horizontal"});
  target.launch_bytes = 1 << 20U;
  return target;
}

Plan plan_of(const std::string& text, const Target& target = stacking_target(),
             const std::string& mesh = "") {
  Job job = job_of(text, mesh);
  job.target = target;
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 4);
  return compile_for_device(program, job.mesh, 0, {});
}

/// Of a program as a text, without any other pass.
Plan plan_of_program(const std::string& text) {
  Plan plan;
  plan.program = with_overwrite_edges(parse(text, op_of));
  schedule(plan, stacking_target());
  stack_products(plan, stacking_target());
  lay_out_memory(plan, stacking_target(), 0);
  return plan;
}

std::string transformer(const std::string& layers, const std::string& keys = "") {
  return fmt::format(R"(
mesh: {{data: 1}}
{}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [4, 8, 16]}}, y: {{normal: [4, 8, 16]}}}}}}}}
model: {{input: [8, 16], layers: [LayerNormalization: {{name: norm}}, {}]}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 4}}
)",
                     keys, layers);
}

std::vector<const Instruction*> stacks(const Plan& plan) {
  std::vector<const Instruction*> found;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.is_stack) found.push_back(&instruction);
  }
  return found;
}

/// The number of products of each stack, in order.
std::vector<int> heights(const Plan& plan) {
  std::vector<int> result;
  for (const Instruction* stack : stacks(plan)) result.push_back(stack->passes);
  return result;
}

/// Whether from each matrix to the next it is as far, for each operand and for the results, and
/// never back.
bool is_even(const Plan& plan, const Instruction& stack) {
  std::vector<std::vector<std::int64_t>> places;
  for (const ValueId id : stack.nodes) {
    auto& mine = places.emplace_back();
    for (const ValueId input : plan.program.node(id).inputs) mine.push_back(plan.offsets[input]);
    mine.push_back(plan.offsets[id]);
  }
  std::ranges::sort(places);
  for (std::size_t k = 0; k < places[0].size(); ++k) {
    const std::int64_t step = places[1][k] - places[0][k];
    for (std::size_t n = 1; n < places.size(); ++n) {
      if (step < 0 || places[n][k] - places[n - 1][k] != step) return false;
    }
  }
  return true;
}

const char* const kAttention =
    "MultiHeadAttention: {num_heads: 2, key_dim: 8, inputs: [norm, norm]}, Dense: {units: 16}";

}  // namespace

TEST_CASE("queries, keys and values are a stack, and so are their gradients") {
  for (const char* const precision : {"float32", "mixed_bfloat16"}) {
    const std::string text = transformer(kAttention, fmt::format("precision: {}", precision));
    for (const char* const mesh : {"1", "2"}) {  // 2: gradients stand in a bucket
      CAPTURE(precision);
      CAPTURE(mesh);
      const Plan plan = plan_of(text, stacking_target(), mesh);
      CHECK(heights(plan) == std::vector{3, 3, 3});  // forward, of the operand, of the weights
      for (const Instruction* stack : stacks(plan)) {
        CAPTURE(plan.program.node(stack->nodes.front()).path);
        CHECK(is_even(plan, *stack));
      }
    }
  }
}

TEST_CASE("stacks with biases of 16 bits: what is small and made of weights alone comes first") {
  Target target = stacking_target();
  target.fusions.insert("einsum_bias");
  target.kernels.insert({"einsum_bias"});
  const std::string text = transformer(kAttention, "precision: mixed_bfloat16");
  target.small_copy = 0;
  const std::vector<int> apart = heights(plan_of(text, target));
  target.small_copy = 1 << 14U;
  const Plan plan = plan_of(text, target);
  CHECK(apart == std::vector{3, 3});
  CHECK(heights(plan) == std::vector{3, 3, 3});
  CHECK(plan.program.node(stacks(plan).front()->nodes.front()).op->name == "einsum_bias");
  for (const Instruction* stack : stacks(plan)) CHECK(is_even(plan, *stack));
  // Five weights and their biases.
  CHECK(std::ranges::count_if(plan.instructions, [](const Instruction& instruction) {
          return instruction.passes >= 8 && instruction.nodes_of_pass() == 1;
        }) == 1);
}

TEST_CASE("a gate and what it is multiplied with are a stack, though gradients take their places") {
  const Plan plan = plan_of(transformer(R"(
    Dense: {name: gate, units: 40, activation: silu, inputs: norm},
    Dense: {name: up, units: 40, inputs: norm},
    Multiply: {inputs: [gate, up]}, Dense: {units: 16})"));
  CHECK(std::ranges::count(heights(plan), 2) >= 2);
  for (const Instruction* stack : stacks(plan)) CHECK(is_even(plan, *stack));
}

TEST_CASE("what needs another product of its form is in no stack with it") {
  CHECK(heights(plan_of(transformer("Dense: {units: 16}, Dense: {units: 16}, Dense: {units: 16}")))
            .empty());
}

TEST_CASE("no stack is made where the file says so") {
  CHECK(heights(plan_of(transformer(kAttention, "fusion: {stacks: false}"))).empty());
}

TEST_CASE("a stack is of one form, and runs where its first product did") {
  const std::string types = " : float32[4, 16] of [4, 16] at [0, 0]  # forward\n";
  const auto weight = [&](int id, const char* shape = "16, 16") {
    return fmt::format(
        "%{0} = variable() {{path=\"w{0}\", dtype=\"float32\", shape=[{1}]}} : float32[{1}] of "
        "[{1}] at [0, 0]  # forward\n",
        id, shape);
  };
  const auto product = [&](int id, int x, int w) {
    return fmt::format("%{} = einsum(%{}, %{}) {{equation=\"a b, b c -> a c\"}}{}", id, x, w,
                       types);
  };
  // The last of four products needs the first one; the fifth multiplies something else.
  const Plan plan = plan_of_program("%0 = input() {name=\"x\", dtype=\"float32\", shape=[4, 16]}" +
                                    types + weight(1) + weight(2) + weight(3) + product(4, 0, 3) +
                                    "%5 = relu(%4)" + types + product(6, 0, 1) + product(7, 5, 2) +
                                    product(8, 0, 2) + "%9 = add(%6, %7)" + types +
                                    "%10 = add(%9, %8)" + types + "output \"y\" = %10\n");
  REQUIRE(heights(plan) == std::vector{3});
  const Instruction& stack = *stacks(plan).front();
  CHECK(stack.nodes == std::vector<ValueId>{4, 6, 8});
  CHECK(&stack == &plan.instructions.front());
  CHECK(is_even(plan, stack));
  CHECK(plan.offsets[6] < plan.offsets[8]);  // as their weights stand
  CHECK(plan.offsets[8] < plan.offsets[4]);
  // Twice the same product is no stack with a third.
  const Plan twice = plan_of_program("%0 = input() {name=\"x\", dtype=\"float32\", shape=[4, 16]}" +
                                     types + weight(1) + weight(2) + product(3, 0, 1) +
                                     product(4, 0, 2) + product(5, 0, 2) + "%6 = add(%3, %4)" +
                                     types + "%7 = add(%6, %5)" + types + "output \"y\" = %7\n");
  CHECK(heights(twice) == std::vector{2});
}
