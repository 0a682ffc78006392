#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/views.h"
#include "program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kOff = "fusion: {input_panels: false}\n";

/// Images of 20 x 30 pixels; `layers` behind a Dense one of 128 units.
std::string model(const std::string& layers, const std::string& more = "") {
  return R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [160, 20, 30]}, y: {normal: [160, 2]}}}}
model:
  input: [20, 30]
  layers:
    - Flatten: {name: flat}
    - Dense: {name: wide, units: 128, activation: relu}
)" + layers +
         R"(
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 64}
)" + more;
}

constexpr const char* kPlain = "    - Dense: {name: out, units: 2}\n";

std::int64_t panels(const std::string& text, const std::string& mesh = "", int device = 0) {
  const Job job = job_of(text, mesh);
  const Graph program =
      compile_for_device(compile(job.config, job.signature, job.mesh, ProgramKind::kTrain, 64),
                         job.mesh, device, {})
          .program;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    if (node.op->name != "input" || node.attrs.text("name") != "x") continue;
    return panels_of(program, static_cast<ValueId>(i));
  }
  return 0;
}

}  // namespace

TEST_CASE("an input of which products of halves alone are computed is stored in two panels") {
  CHECK(panels(model(kPlain)) == 2);
  CHECK(panels(model(kPlain, kOff)) == 1);
  CHECK(panels(model(kPlain, "fusion: {split_k: false}\n")) == 1);
  CHECK(panels(model(kPlain), "2", 1) == 2);
  CHECK(panels(model(kPlain, "fusion: {chains: false}\n")) == 2);
}

TEST_CASE("an input that others read stays as it is") {
  // A second product, with few units, is of whole rows.
  CHECK(panels(model(R"(
    - Dense: {name: other, inputs: flat, units: 4}
    - Concatenate: {inputs: [wide, other]}
    - Dense: {name: out, units: 2}
)")) == 1);
  CHECK(panels(model(R"(
    - Dense: {name: other, inputs: flat, units: 100}
    - Concatenate: {inputs: [wide, other]}
    - Dense: {name: out, units: 2}
)")) == 1);
  CHECK(panels(model(R"(
    - ReLU: {name: positive, inputs: flat}
    - Concatenate: {inputs: [wide, positive]}
    - Dense: {name: out, units: 2}
)")) == 1);
  const std::string sharded =
      "strategy: model_parallel\nmesh: {data: 1, model: 2}\n"
      "layout_map: {wide/kernel: [model, null]}\n";
  CHECK(panels(model(kPlain, sharded)) == 1);
}

TEST_CASE("training gives the same bits with inputs in panels") {
  for (const char* mesh : {"1", "2", "3"}) {
    for (const char* more : {"", "fusion: {chains: false}\n"}) {
      CAPTURE(mesh);
      const Trajectory dense =
          train(model(kPlain, std::string(more).empty()
                                  ? kOff
                                  : "fusion: {chains: false, input_panels: false}\n"),
                {.mesh = mesh, .steps = 7});
      const Trajectory in_panels = train(model(kPlain, more), {.mesh = mesh, .steps = 7});
      CHECK(in_panels.losses == dense.losses);
      CHECK(in_panels.digest == dense.digest);
    }
  }
}

TEST_CASE("so it does where gradients are accumulated") {
  const auto accumulating = [](const std::string& more) {
    std::string text = model(kPlain, more);
    const std::string adam = "optimizer: adam";
    return text.replace(text.find(adam), adam.size(),
                        "optimizer: {SGD: {learning_rate: 0.1, gradient_accumulation_steps: 2}}");
  };
  const Trajectory dense = train(accumulating(kOff), {.mesh = "2", .steps = 8});
  const Trajectory in_panels = train(accumulating(""), {.mesh = "2", .steps = 8});
  CHECK(in_panels.losses == dense.losses);
  CHECK(in_panels.digest == dense.digest);
}
