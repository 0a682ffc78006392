// What the compiler says of a value: why it is laid out so, and what that sends.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "compile.h"
#include "explain/explain.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

const std::string kPerceptron = R"(
mesh: {data: 2, model: 2}
strategy: model_parallel
layout_map:
  d1/kernel: [null, model]
  d1/bias: [model]
  d2/kernel: [model, null]
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 3]}, y: {normal: [8, 2]}}}}
model:
  input: [3]
  layers:
    - Dense: {name: d1, units: 4, activation: relu}
    - Dense: {name: d2, units: 2}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 8}
)";

struct Compiled {
  Job job;
  CompileTrace trace;
  GlobalProgram program;
};

Compiled compiled(const std::string& text, const std::string& mesh = "") {
  Compiled result{job_of(text, mesh), {}, {}};
  const Job& job = result.job;
  result.program = compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain,
                           job.config.fit.batch_size, {.trace = &result.trace});
  return result;
}

Explanation explained(const Compiled& c, const std::string& path) {
  return explain(c.trace, c.job.config, c.job.mesh, path);
}

ValueExplanation value_of(const Compiled& c, const std::string& path) {
  const Explanation explanation = explained(c, path);
  REQUIRE(explanation.values.size() == 1);
  return explanation.values.front();
}

/// "forward d2 [data, null] partial(model) -> [data, null] all_reduce 24" for each.
std::vector<std::string> transfers(const Compiled& c, const std::string& path,
                                   TransferCause cause) {
  const Explanation explanation = explained(c, path);
  std::vector<std::string> lines;
  for (const CausedMove& caused : explanation.values.front().transfers) {
    if (caused.cause != cause) continue;
    const Transfer& transfer = explanation.transfers[caused.transfer];
    const char* phases[] = {"forward", "backward", "update"};
    std::string line =
        fmt::format("{} {} {} -> {}", phases[static_cast<int>(transfer.phase)], transfer.layer,
                    to_string(transfer.from, c.job.mesh), to_string(transfer.to, c.job.mesh));
    for (const ReshardStep& step : transfer.steps) line += fmt::format(" {}", to_string(step.kind));
    lines.push_back(fmt::format("{} {}", line, transfer.bytes));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a weight: its rule, the reduction of its gradient, the sum that its rows leave") {
  const Compiled c = compiled(kPerceptron);
  const ValueExplanation kernel = value_of(c, "d2/kernel");
  CHECK(kernel.kind == ValueKind::kWeight);
  CHECK(to_string(kernel.layout, c.job.mesh) == "[model, null]");
  REQUIRE(kernel.rule.has_value());
  CHECK(kernel.rule->pattern == "d2/kernel");
  CHECK(kernel.rule->at.line == 7);
  // 4 of 8 rows and 2 columns of four bytes, all-reduced between two.
  CHECK(transfers(c, "d2/kernel", TransferCause::kSum) ==
        Lines{"forward d2 [data, null] partial(model) -> [data, null] all_reduce 32"});
  CHECK(transfers(c, "d2/kernel", TransferCause::kGradient) ==
        Lines{"backward d2 [model, null] partial(data) -> [model, null] all_reduce 16"});
  CHECK(transfers(c, "d2/kernel", TransferCause::kItself).empty());
  CHECK(!value_of(c, "d2/bias").rule.has_value());
}

TEST_CASE("gradients and slots say whose layout they have") {
  const Compiled c = compiled(kPerceptron);
  const ValueExplanation gradient = value_of(c, "d1/kernel/gradient");
  CHECK(gradient.kind == ValueKind::kGradient);
  CHECK(gradient.like == "adam/d1_kernel_momentum");
  CHECK(to_string(gradient.layout, c.job.mesh) == "[null, model]");
  CHECK(transfers(c, "d1/kernel/gradient", TransferCause::kItself) ==
        Lines{"backward d1 [null, model] partial(data) -> [null, model] all_reduce 24"});
  const ValueExplanation slot = value_of(c, "adam/d1_kernel_momentum");
  CHECK(slot.kind == ValueKind::kSlot);
  CHECK(slot.like == "d1/kernel");
  CHECK(!slot.optimizer_rule);
}

TEST_CASE("state of the optimizer that is sharded: gradients scattered, weights gathered again") {
  const Compiled c =
      compiled(kPerceptron + "optimizer_layout: {d2/kernel: [[model, data], null]}\n");
  const ValueExplanation slot = value_of(c, "adam/d2_kernel_velocity");
  CHECK(slot.optimizer_rule);
  CHECK(slot.like.empty());
  CHECK(transfers(c, "d2/kernel", TransferCause::kGradient) ==
        Lines{"backward d2 [model, null] partial(data) -> [[model, data], null] reduce_scatter 8"});
  CHECK(transfers(c, "d2/kernel", TransferCause::kNewValue) ==
        Lines{"update adam [[model, data], null] -> [model, null] all_gather 8"});
  CHECK(transfers(c, "d2/kernel", TransferCause::kItself) ==
        Lines{"update adam [model, null] -> [[model, data], null] slice 0"});
}

TEST_CASE("an output says by which operand each axis came") {
  const Compiled c = compiled(kPerceptron);
  const ValueExplanation output = value_of(c, "d1/output");
  CHECK(to_string(output.layout, c.job.mesh) == "[data, model]");
  REQUIRE(output.origins.size() == 2);
  const AxisOrigin& data = output.origins[0];
  CHECK(data.axis == 0);
  CHECK(data.dim == 0);
  CHECK(data.through == "input/output");
  CHECK(data.kind == AxisOrigin::Kind::kBatch);
  CHECK(data.root == "x");
  const AxisOrigin& model = output.origins[1];
  CHECK(model.axis == 1);
  CHECK(model.dim == 1);
  CHECK(model.through == "d1/kernel");
  CHECK(model.through_dim == 1);
  CHECK(model.kind == AxisOrigin::Kind::kVariable);
  REQUIRE(model.rule.has_value());
  CHECK(model.rule->at.line == 5);
  // Its columns are the rows over which d2 adds up, its batch those of a gradient.
  CHECK(transfers(c, "d1/output", TransferCause::kSum) ==
        Lines{"forward d2 [data, null] partial(model) -> [data, null] all_reduce 32",
              "backward d2 [model, null] partial(data) -> [model, null] all_reduce 16"});
  const ValueExplanation last = value_of(c, "d2/output");
  REQUIRE(last.origins.size() == 1);
  CHECK(last.origins[0].through == "d1/output");
  CHECK(last.origins[0].root == "x");
  CHECK(transfers(c, "d2/output", TransferCause::kInside) ==
        Lines{"forward d2 [data, null] partial(model) -> [data, null] all_reduce 32"});
}

TEST_CASE("a layer is all that stands below its path") {
  const Compiled c = compiled(kPerceptron);
  const Explanation layer = explained(c, "d1");
  std::vector<std::string> paths;
  for (const ValueExplanation& value : layer.values) paths.push_back(value.path);
  CHECK(paths == Lines{"d1/kernel", "d1/kernel/gradient", "d1/bias", "d1/bias/gradient",
                       "adam/d1_kernel_momentum", "adam/d1_kernel_velocity",
                       "adam/d1_bias_momentum", "adam/d1_bias_velocity", "d1/output"});
  CHECK(explained(c, "input").values.front().path == "input/output");
}

TEST_CASE("all transfers together are what a step sends") {
  for (const char* mesh :
       {"data=2,model=2", "data=1,model=4", "data=3,model=2", "data=4,model=1"}) {
    CAPTURE(mesh);
    const Compiled c = compiled(kPerceptron, mesh);
    double sent = 0;
    for (const Transfer& transfer : transfers_of(c.trace.agreed, c.job.mesh))
      sent += transfer.bytes;
    double planned = 0;
    const int devices = c.job.mesh.num_devices();
    for (int device = 0; device < devices; ++device) {
      for (const Traffic& entry : traffic(compile_for_device(c.program, c.job.mesh, device, {}))) {
        planned += entry.bytes / devices;
      }
    }
    CHECK(sent == doctest::Approx(planned).epsilon(1e-12));
  }
}

TEST_CASE("a convolution of tiles needs its input with a halo") {
  const Compiled c = compiled(R"(
mesh: {data: 2, height: 2, width: 2}
strategy: model_parallel
layout_map: {input/output: [data, height, width, null]}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [4, 12, 8, 3]}, y: {normal: [4, 12, 8, 5]}}}
model:
  input: [12, 8, 3]
  layers:
    - Conv2D: {name: conv, filters: 5, kernel_size: 3, padding: same}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4}
)");
  const Explanation input = explained(c, "input/output");
  REQUIRE(input.values.front().rule.has_value());
  const Transfer& transfer = input.transfers[input.values.front().transfers.front().transfer];
  CHECK(transfer.layer == "conv");
  CHECK(to_string(transfer.to, c.job.mesh) == "[data, height{0:7 5:12}, width{0:5 3:8}, null]");
  REQUIRE(transfer.steps.size() == 2);
  CHECK(transfer.steps[0].kind == StepKind::kHaloExchange);
  // Two images, one row of four columns and three channels; then a column of the seven rows.
  CHECK(transfer.step_bytes[0] == doctest::Approx(2 * 4 * 3 * 4));
  CHECK(transfer.step_bytes[1] == doctest::Approx(2 * 7 * 3 * 4));
  const ValueExplanation output = value_of(c, "conv/output");
  REQUIRE(output.origins.size() == 3);
  for (const AxisOrigin& origin : output.origins) {
    CHECK(origin.through == "input/output");
    CHECK(origin.kind == AxisOrigin::Kind::kOutput);
    CHECK(origin.through_dim == origin.dim);
  }
}

TEST_CASE("a path that names nothing is an error with the nearest") {
  const Compiled c = compiled(kPerceptron);
  const auto message = [&](const std::string& path) {
    try {
      explained(c, path);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kConfiguration);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("d1/kernl") ==
        "command line: 'd1/kernl' is no variable, gradient, layer or layer's output; nearest: "
        "'d1/kernel', 'd2/kernel'");
  CHECK(message("d3").find("; nearest: 'd1', 'd2'") != std::string::npos);
  CHECK(message("zzzzzzzz").find("; known: 'd1', 'd2', 'adam', 'input'") != std::string::npos);
  CHECK(message("d1/").find("is no variable") != std::string::npos);
  CHECK(message("/").find("is no variable") != std::string::npos);
}
