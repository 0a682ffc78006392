// Updates of weights whose optimizer state lies in parts: gradients arrive together, weights go out
// together.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "compile.h"
#include "graph/op_def.h"
#include "plan/check_memory.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

const std::string kState = R"(
mesh: {data: 4}
optimizer_layout: {'.*': [data]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [64, 40]}, y: {normal: [64, 40]}}}}
model: {input: [40], layers: [Dense: {units: 40}, Dense: {units: 40}, Dense: {units: 40}]}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 64}
)";

/// Of a device that launches several passes at once.
Plan plan_of(const std::string& text, const std::function<void(Target&)>& adapt) {
  Job job = job_of(text, "");
  job.target.launch_bytes = 1 << 20;
  job.target.fusions.insert({"horizontal", "small_scatters"});
  adapt(job.target);
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 64);
  Plan plan = compile_for_device(program, job.mesh, 1, {});
  check_memory(plan);
  return plan;
}

/// Instructions that compute new weights and state.
std::int64_t updates(const Plan& plan) {
  return std::ranges::count_if(plan.instructions, [&](const Instruction& instruction) {
    return std::ranges::any_of(instruction.nodes, [&](ValueId id) {
      const Node& node = plan.program.node(id);
      return node.phase == Phase::kUpdate && node.op->name == std::string_view("sqrt") &&
             !node.type.shape.empty();
    });
  });
}

std::int64_t calls(const Plan& plan, const std::string& op) {
  std::int64_t result = 0;
  for (const Traffic& traffic : traffic(plan)) {
    if (traffic.op == op) result += traffic.calls;
  }
  return result;
}

}  // namespace

TEST_CASE("weights are updated in one launch before they go out, as many as fill the links") {
  CHECK(updates(plan_of(kState, [](Target& target) { target.bucket = 1 << 20; })) == 1);
  CHECK(updates(plan_of(kState, [](Target& target) { target.bucket = 1; })) == 6);
}

TEST_CASE("small gradients that are scattered are reduced with all others instead") {
  const Plan all = plan_of(kState, [](Target& target) { target.small_message = 1 << 20; });
  CHECK(calls(all, "reduce_scatter") == 0);
  CHECK(calls(all, "all_reduce") == 1);
  CHECK(calls(all, "all_gather") == 6);
  const Plan biases = plan_of(kState, [](Target& target) { target.small_message = 200; });
  CHECK(calls(biases, "reduce_scatter") == 3);
  CHECK(calls(biases, "all_reduce") == 1);
}

TEST_CASE("scattered in whichever way, gradients give the same bits") {
  for (const char* mesh : {"2", "3", "4", "5"}) {
    CAPTURE(mesh);
    TrainOptions options{.mesh = mesh};
    const Trajectory scattered = train(kState, options);
    options.adapt = [](Target& target) {
      target.launch_bytes = 1 << 20;
      target.fusions.insert({"horizontal", "small_scatters"});
    };
    const Trajectory reduced = train(kState, options);
    CHECK(reduced.digest == scattered.digest);
    CHECK(reduced.losses == scattered.losses);
  }
}

TEST_CASE("small weights go out in one call behind all updates, and each to its variable") {
  const auto together = [](Target& target) { target.fusions.insert("small_gathers"); };
  const Plan plan = plan_of(kState, together);
  CHECK(calls(plan, "all_gather") == 1);
  CHECK(updates(plan) == 1);
  CHECK(plan.copies.empty());
  const Plan kernels = plan_of(kState, [&](Target& target) {
    together(target);
    target.small_message = 200;
  });
  CHECK(calls(kernels, "all_gather") == 4);
  const Plan links = plan_of(kState, [&](Target& target) {
    together(target);
    target.bucket = 10000;  // two kernels, but not three
  });
  CHECK(calls(links, "all_gather") == 2);
}

TEST_CASE("gathered in whichever way, small weights give the same bits") {
  std::string text = kState;
  text.replace(text.find("optimizer_layout"), 16, "strategy: model_parallel\nlayout_map");
  for (const std::string& layouts : {kState, text}) {
    for (const char* mesh : {"2", "3", "4", "5"}) {
      CAPTURE(mesh);
      TrainOptions options{.mesh = mesh};
      const Trajectory apart = train(layouts, options);
      options.adapt = [](Target& target) {
        target.launch_bytes = 1 << 20;
        target.bucket = 10000;
        target.fusions.insert({"horizontal", "small_gathers"});
      };
      const Trajectory together = train(layouts, options);
      CHECK(together.digest == apart.digest);
      CHECK(together.losses == apart.losses);
    }
  }
}

TEST_CASE("a weight decays in parts where its update is computed in parts") {
  struct Case {
    const char* optimizer;
    double tolerance;
  };
  // A norm is the sum of those of the parts. Gradients that accumulate are reduced in each step
  // where their sums are in parts, else once: sums in another order, as on another mesh.
  for (const Case& each :
       {Case{"{AdamW: {weight_decay: 0.1}}", 0},
        Case{"{Adam: {weight_decay: 0.1, use_ema: true}}", 0},
        Case{"{AdamW: {weight_decay: 0.1, global_clipnorm: 0.5}}", 1e-6},
        Case{"{AdamW: {weight_decay: 0.1, global_clipnorm: 0.5, gradient_accumulation_steps: 2}}",
             1e-5}}) {
    CAPTURE(each.optimizer);
    std::string text = kState;
    text.replace(text.find("optimizer: adam"), 15, fmt::format("optimizer: {}", each.optimizer));
    const Plan plan = plan_of(text, [](Target&) {});
    const Graph& program = plan.program;
    for (const ValueId id : program.ids()) {
      const Node& node = program.node(id);
      if (node.phase != Phase::kUpdate || !node.op->elementwise) continue;
      CAPTURE(id);
      CHECK(num_elements(node.type.shape) <= 40 * 40 / 4);
    }
    std::string whole = text;
    whole.erase(whole.find("optimizer_layout"), whole.find("dataset:") - whole.find("optimizer_l"));
    for (const char* mesh : {"2", "3"}) {
      const Trajectory parts = train(text, {.mesh = mesh}), all = train(whole, {.mesh = mesh});
      CHECK(weight_difference(parts, all) <= each.tolerance);
    }
  }
}

TEST_CASE("what updates wait for, and what goes out behind them, changes no bits") {
  const std::string model = R"(
mesh: {data: 2, model: 2}
strategy: model_parallel
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [32, 20]}, y: {normal: [32, 5]}}}}
model:
  input: [20]
  layers:
    - Dense: {name: a, units: 40, activation: relu}
    - LayerNormalization: {}
    - Dense: {name: b, units: 24}
    - BatchNormalization: {}
    - Dense: {units: 5}
fit: {batch_size: 16}
)";
  const auto together = [](Target& target) {
    target.launch_bytes = 1 << 20;
    target.fusions.insert({"horizontal", "small_gathers", "small_scatters"});
    target.prefetch = 1000;
  };
  for (const std::string layouts :
       {"layout_map: {'.*': [data]}", "layout_map: {'.*/kernel': [[data, model]]}",
        "layout_map: {'a/kernel': [null, model], 'a/bias': [model], 'b/kernel': [model]}",
        "layout_map: {'b/kernel': [model]}\noptimizer_layout: {'.*': [data]}"}) {
    for (const std::string optimizer :
         {"{AdamW: {global_clipnorm: 0.5, gradient_accumulation_steps: 2}}",
          "{LossScaleOptimizer: {inner_optimizer: {AdamW: {global_clipnorm: 0.5, use_ema: true}}}}",
          "{SGD: {momentum: 0.9, clipnorm: 1, use_ema: true}}"}) {
      CAPTURE(layouts);
      CAPTURE(optimizer);
      const std::string text =
          model + layouts + "\ncompile: {loss: mse, optimizer: " + optimizer + "}\n";
      for (const char* mesh : {"2x1", "3x2"}) {
        CAPTURE(mesh);
        const Trajectory apart = train(text, {.mesh = mesh, .steps = 4});
        const Trajectory all = train(text, {.mesh = mesh, .steps = 4, .adapt = together});
        CHECK(all.losses == apart.losses);
        CHECK(all.digest == apart.digest);
      }
    }
  }
}
