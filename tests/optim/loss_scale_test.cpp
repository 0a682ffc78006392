// LossScaleOptimizer by itself. Whole steps are compared with Keras's in keras_test.cpp.
#include "optim/loss_scale.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.h"
#include "ops/ops.h"
#include "optim/optimizer_text.h"
#include "support/interpreter.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Weights a [2] and b [] whose gradients are the inputs "ga", of `dtype` and then cast, and "gb".
Graph program(const std::string& text, DType dtype = DType::kFloat32) {
  Graph graph;
  GraphBuilder b(graph);
  std::vector<Update> gradients;
  add_weight(b, "a", {2});
  add_weight(b, "b", {});
  const ValueId scale = loss_scale(b, optimizer(text));
  if (scale != kNoValue) graph.outputs.push_back({"scale", scale});
  const ValueId narrow = ops::input(b, "ga", {dtype, {2}});
  gradients.push_back({graph.variables[0].value, ops::cast(b, narrow, DType::kFloat32)});
  gradients.push_back({graph.variables[1].value, ops::input(b, "gb", {DType::kFloat32, {}})});
  add_optimizer(b, optimizer(text), gradients);
  verify(graph);
  return graph;
}

/// The program step by step, the gradients of a as they are given, that of b 0.
class Steps {
 public:
  explicit Steps(const std::string& text) : graph_(program(text)), run_(graph_, *backend_) {
    run_.initialize();
  }

  void step(float first, float second, float rate = 1) {
    run_.feed("ga", host_tensor({2}, std::vector<float>{first, second}));
    run_.feed("gb", host_tensor({}, std::vector<float>{0}));
    if (input_value(graph_, "learning_rate") != kNoValue) {
      run_.feed("learning_rate", host_tensor({}, std::vector<float>{rate}));
    }
    run_.run();
    run_.update();
  }

  double read(const std::string& path) { return to_doubles(run_.read(path))[0]; }
  const Graph& graph() const { return graph_; }

 private:
  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Graph graph_;
  Interpreter run_;
};

std::string scaled(const std::string& inner, const std::string& more = "") {
  return "LossScaleOptimizer: {inner_optimizer: {" + inner + "}, initial_scale: 8" + more + "}";
}

}  // namespace

TEST_CASE("a step whose gradients are not all finite changes nothing but the scale") {
  for (const float bad : {kInfinity, -kInfinity, kNaN}) {
    Steps steps(scaled("SGD: {momentum: 0.5}"));
    steps.step(8, 16);
    CHECK(steps.read("a") == -1);
    CHECK(steps.read("sgd/a_momentum") == -1);
    CHECK(steps.read("sgd/iteration") == 1);
    CHECK(steps.read("loss_scale_optimizer/step_counter") == 1);
    CHECK(steps.read("loss_scale_optimizer/dynamic_scale") == 8);
    steps.step(8, bad);
    CHECK(steps.read("a") == -1);
    CHECK(steps.read("sgd/a_momentum") == -1);
    CHECK(steps.read("sgd/iteration") == 1);
    CHECK(steps.read("loss_scale_optimizer/step_counter") == 0);
    CHECK(steps.read("loss_scale_optimizer/dynamic_scale") == 4);
    steps.step(8, 16);  // divided by 4: -2 and half of the step before
    CHECK(steps.read("a") == -3.5);
    CHECK(steps.read("sgd/iteration") == 2);
  }
}

TEST_CASE("the scale doubles after so many finite steps in a row") {
  Steps steps(scaled("SGD", ", dynamic_growth_steps: 3"));
  std::vector<double> scales, counters;
  for (const float gradient : {1.0F, 1.0F, 1.0F, 1.0F, kNaN, 1.0F, 1.0F, 1.0F}) {
    steps.step(gradient, 0, 0);
    scales.push_back(steps.read("loss_scale_optimizer/dynamic_scale"));
    counters.push_back(steps.read("loss_scale_optimizer/step_counter"));
  }
  CHECK(scales == std::vector<double>{8, 8, 16, 16, 8, 8, 8, 16});
  CHECK(counters == std::vector<double>{1, 2, 0, 1, 0, 1, 2, 0});
}

TEST_CASE("finite gradients may be as large as float32, and all but as large as float16") {
  Steps wide(scaled("SGD"));
  wide.step(3e38F, -3e38F, 0);
  CHECK(wide.read("sgd/iteration") == 1);
  // What is computed in float32 of a gradient of float16 rounds to infinity from 65520 on.
  const auto finite = [](float gradient) {
    Graph graph = program(scaled("SGD"), DType::kFloat16);
    const auto cast = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return node.op == &ops::kCast && node.type.shape == Shape{2};
    });
    REQUIRE(cast != graph.nodes.end());
    // As a pass that keeps all digits leaves it.
    cast->op = &ops::kInput;
    cast->inputs = {};
    cast->attrs = {{"name", "wide"}, {"dtype", "float32"}, {"shape", Shape{2}}};
    const auto backend = make_reference_backend();
    Interpreter run(graph, *backend);
    run.initialize();
    run.feed("wide", host_tensor({2}, std::vector<float>{1, gradient}));
    run.feed("gb", host_tensor({}, std::vector<float>{0}));
    run.feed("learning_rate", host_tensor({}, std::vector<float>{0}));
    run.run();
    run.update();
    return to_doubles(run.read("sgd/iteration"))[0] == 1;
  };
  CHECK(finite(65504));
  CHECK(finite(-65519));
  CHECK_FALSE(finite(65521));
  CHECK_FALSE(finite(-1e6F));
  CHECK_FALSE(finite(kNaN));
}

TEST_CASE("which step is an update, and what a schedule gives, goes by the steps that count") {
  Steps steps(
      scaled("SGD: {gradient_accumulation_steps: 2, learning_rate: {PiecewiseConstantDecay: "
             "{boundaries: [1], values: [1, 10]}}}"));
  CHECK(input_value(steps.graph(), "learning_rate") == kNoValue);
  CHECK(input_value(steps.graph(), "iteration") == kNoValue);
  steps.step(8, 0);
  CHECK(steps.read("sgd/a_gradient_accumulator") == 1);
  steps.step(kNaN, 0);  // now 4
  CHECK(steps.read("sgd/a_gradient_accumulator") == 1);
  CHECK(steps.read("a") == 0);
  steps.step(12, 0);
  CHECK(steps.read("a") == -2);
  CHECK(steps.read("sgd/a_gradient_accumulator") == 0);
  steps.step(4, 0);
  steps.step(4, 0);
  CHECK(steps.read("a") == -12);
  CHECK(steps_per_update(optimizer(scaled("SGD: {gradient_accumulation_steps: 2}"))) == 1);
}

TEST_CASE("programs compute the schedules of the host") {
  for (const char* schedule : {
           "CosineDecay: {initial_learning_rate: 1, decay_steps: 90, alpha: 0.1}",
           "CosineDecay: {initial_learning_rate: 0.1, decay_steps: 50, warmup_target: 1, "
           "warmup_steps: 20}",
           "CosineDecayRestarts: {initial_learning_rate: 1, first_decay_steps: 10}",
           "CosineDecayRestarts: {initial_learning_rate: 1, first_decay_steps: 10, t_mul: 1, "
           "m_mul: 0.9, alpha: 0.1}",
           "CosineDecayRestarts: {initial_learning_rate: 1, first_decay_steps: 7, t_mul: 1.5}",
           "ExponentialDecay: {initial_learning_rate: 1, decay_steps: 9, decay_rate: 0.7}",
           "ExponentialDecay: {initial_learning_rate: 1, decay_steps: 9, decay_rate: 0.7, "
           "staircase: true}",
           "InverseTimeDecay: {initial_learning_rate: 1, decay_steps: 9, decay_rate: 0.7}",
           "PiecewiseConstantDecay: {boundaries: [10, 30], values: [1, 0.5, 0.1]}",
           "PolynomialDecay: {initial_learning_rate: 1, decay_steps: 30, power: 2}",
           "PolynomialDecay: {initial_learning_rate: 1, decay_steps: 30, cycle: true}",
       }) {
    CAPTURE(schedule);
    const Schedule rate =
        learning_rate_of(optimizer(fmt::format("SGD: {{learning_rate: {{{}}}}}", schedule)));
    Graph graph;
    GraphBuilder b(graph);
    const ValueId step = ops::input(b, "step", {DType::kFloat32, {}});
    graph.outputs.push_back({"rate", rate.append(b, step)});
    const auto naive = make_reference_backend(), fast = make_cpu_backend(1);
    for (Backend* backend : {naive.get(), fast.get()}) {
      Interpreter run(graph, *backend);
      for (int i = 0; i < 120; ++i) {
        CAPTURE(i);
        run.feed("step", host_tensor({}, std::vector<float>{static_cast<float>(i)}));
        run.run();
        CHECK(std::abs(to_doubles(run.read("rate"))[0] - rate(i)) < 1e-5);
      }
    }
  }
}

TEST_CASE("the loss is multiplied by the scale, or by the factor of another optimizer") {
  const auto scale_in = [](const std::string& text) {
    Graph graph;
    GraphBuilder b(graph);
    const ValueId scale = loss_scale(b, optimizer(text));
    return scale == kNoValue ? Node{} : graph.node(scale);
  };
  CHECK(scale_in(scaled("Adam")).attrs.text("path") == "loss_scale_optimizer/dynamic_scale");
  CHECK(scale_in("SGD: {loss_scale_factor: 3}").attrs.real("value") == 3);
  CHECK(scale_in("SGD").op == nullptr);
  Steps steps("SGD: {loss_scale_factor: 4}");
  steps.step(8, 16);
  CHECK(steps.read("a") == -2);
  Steps ignored(scaled("SGD: {loss_scale_factor: 100}"));  // as in Keras
  ignored.step(8, 16);
  CHECK(ignored.read("a") == -1);
}

TEST_CASE("what it keeps has Keras's names and order") {
  const OptimizerState state = state_of(optimizer(scaled("Adam")), {"a"});
  CHECK(state.name == "adam");
  CHECK(state.scaled_by == "loss_scale_optimizer");
  CHECK(state.counters == std::vector<std::string>{"loss_scale_optimizer/step_counter",
                                                   "loss_scale_optimizer/dynamic_scale",
                                                   "adam/iteration"});
  CHECK(state.slots.front() == "adam/a_average");
  CHECK(state_of(optimizer("Adam"), {"a"}).counters.empty());
  CHECK(averages_weights(optimizer(scaled("Adam: {use_ema: true}"))));
}

TEST_CASE("errors of LossScaleOptimizer") {
  CHECK(error_of(scaled("Adam")) == "");
  CHECK(error_of("lossscaleoptimizer: {inner_optimizer: sgd}") == "");
  CHECK(error_of("LossScaleOptimizer") ==
        "c.yaml:1:1: optimizer LossScaleOptimizer needs the key 'inner_optimizer'");
  CHECK(error_of(scaled("Adam", ", initial_scale: 0")) != "");
  CHECK(error_of("LossScaleOptimizer: {inner_optimizer: adam, initial_scale: 0}") ==
        "c.yaml:1:60: optimizer LossScaleOptimizer: initial_scale is 0; give more than 0");
  CHECK(error_of("LossScaleOptimizer: {inner_optimizer: adam, dynamic_growth_steps: 0}") ==
        "c.yaml:1:67: optimizer LossScaleOptimizer: dynamic_growth_steps is 0, not between 1 and "
        "2147483647");
  CHECK(error_of("LossScaleOptimizer: {inner_optimizer: adam, clipnorm: 1}") ==
        "c.yaml:1:55: optimizer LossScaleOptimizer has no clipnorm; set it on the inner_optimizer");
  CHECK(error_of(scaled("LossScaleOptimizer: {inner_optimizer: adam}")) ==
        "c.yaml:1:40: optimizer LossScaleOptimizer: inner_optimizer is a LossScaleOptimizer, too; "
        "name one that updates weights");
  CHECK(error_of(scaled("Adam: {learning_rat: 1}")) ==
        "c.yaml:1:47: optimizer Adam has no key 'learning_rat'; nearest: 'learning_rate'");
  CHECK(error_of("SGD: {loss_scale_factor: 0}") ==
        "c.yaml:1:26: optimizer SGD: loss_scale_factor is 0; give more than 0, or leave it "
        "out");
}
