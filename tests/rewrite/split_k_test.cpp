#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/views.h"
#include "program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kOff = "fusion: {split_k: false}\n";

struct Sizes {
  int batch = 64, inputs = 600, units = 128;
};

std::string model(const Sizes& sizes, const std::string& more = "") {
  return fmt::format(R"(
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [128, {1}]}}, y: {{normal: [128, 2]}}}}}}}}
model: {{input: [{1}], layers: [Dense: {{name: wide, units: {2}, activation: relu}}, Dense: {{name: out, units: 2}}]}}
compile: {{optimizer: adam, loss: mse}}
fit: {{batch_size: {0}}}
)",
                     sizes.batch, sizes.inputs, sizes.units) +
         more;
}

Plan plan_of(const Sizes& sizes, const std::string& more = "", int device = 0) {
  const Job job = job_of(model(sizes, more), "");
  return compile_for_device(
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, sizes.batch),
      job.mesh, device, {});
}

int products_of_halves(const Plan& plan) {
  const auto& nodes = plan.program.nodes;
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.op->name == "einsum" && node.type.shape.size() == 3;
  }));
}

}  // namespace

TEST_CASE("a product with a large second factor is a stack of two, added by what reads it") {
  const Plan plan = plan_of({});
  CHECK(products_of_halves(plan) == 1);
  CHECK(products_of_halves(plan_of({}, kOff)) == 0);
  const Graph& program = plan.program;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].op->name != "slice") continue;
    CHECK(is_view(program, static_cast<ValueId>(i)));
  }
  // The sum of the halves, the bias and the activation are one pass.
  const auto is_pass = [&](const Instruction& instruction) {
    return instruction.nodes.size() == 3 &&
           program.node(instruction.nodes.back()).op->name == "relu";
  };
  CHECK(std::count_if(plan.instructions.begin(), plan.instructions.end(), is_pass) == 1);
}

TEST_CASE("only long sums of a factor that caches hold are split") {
  CHECK(products_of_halves(plan_of({.batch = 128})) == 1);
  CHECK(products_of_halves(plan_of({.batch = 128, .inputs = 500})) == 0);  // k < 4 m
  CHECK(products_of_halves(plan_of({.units = 512})) == 0);                 // w is too large
  CHECK(products_of_halves(plan_of({.units = 64})) == 0);                  // too little work
  CHECK(products_of_halves(plan_of({.inputs = 601})) == 0);
}

TEST_CASE("devices that share a batch or the units split, those that share the sum do not") {
  const std::string parallel = "strategy: model_parallel\nmesh: {data: 2, model: 2}\nlayout_map: ";
  for (int device = 0; device < 4; ++device) {
    CHECK(products_of_halves(plan_of(
              {}, parallel + "{wide/kernel: [null, model], wide/bias: [model]}\n", device)) == 1);
    CHECK(products_of_halves(plan_of({}, parallel + "{wide/kernel: [model, null]}\n", device)) ==
          0);
  }
}

TEST_CASE("training with products in halves gives what whole ones give") {
  for (const char* mesh : {"1", "2", "3"}) {
    CAPTURE(mesh);
    const Trajectory whole = train(model({}, kOff), {.mesh = mesh});
    const Trajectory halves = train(model({}), {.mesh = mesh});
    CHECK(loss_difference(halves, whole) < 1e-5);
    CHECK(weight_difference(halves, whole) < 1e-4);
  }
}
