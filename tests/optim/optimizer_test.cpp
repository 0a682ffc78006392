#include "optim/optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "base/error.h"
#include "config/yaml.h"
#include "ops/ops.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

config::ClassSpec optimizer(const std::string& text) {
  return config::read_class(config::parse_yaml(text, "c.yaml"), "optimizer");
}

/// A program with weights of two elements at `paths`, gradients as inputs "g0", "g1", and the
/// optimizer.
Graph program(const std::string& text, const std::vector<std::string>& paths) {
  Graph graph;
  GraphBuilder b(graph);
  std::vector<Gradient> gradients;
  const TensorType type{DType::kFloat32, {2}};
  for (const std::string& path : paths) {
    const ValueId value =
        b.add(ops::kVariable, {}, {{"path", path}, {"dtype", "float32"}, {"shape", type.shape}});
    graph.variables.push_back({.value = value,
                               .path = path,
                               .trainable = true,
                               .slot_of = {},
                               .init = &ops::kConstant,
                               .init_attrs = {{"value", 0.0}, {"shape", type.shape}}});
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    gradients.push_back({i, ops::input(b, "g" + std::to_string(i), type)});
  }
  add_optimizer(b, optimizer(text), gradients);
  verify(graph);
  return graph;
}

/// Section 13 of the reference: w0 = [1, -2], gradient of step s = s [0.1, -0.2].
std::vector<double> after(const std::string& text, int steps) {
  const Graph graph = program(text, {"d/kernel"});
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.initialize();
  run.feed("d/kernel", host_tensor({2}, std::vector<float>{1, -2}));
  const Schedule rate = learning_rate_of(optimizer(text));
  for (int step = 0; step < steps; ++step) {
    const auto s = static_cast<float>(step + 1);
    run.feed("g0", host_tensor({2}, std::vector<float>{s * 0.1F, s * -0.2F}));
    run.feed("learning_rate", host_tensor({}, std::vector<float>{static_cast<float>(rate(step))}));
    for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
      if (graph.type(id).dtype != DType::kInt64) continue;
      HostTensor iteration = host_tensor(graph.type(id));
      iteration.as<std::int64_t>()[0] = step;
      run.feed(id, iteration);
    }
    run.run();
    run.update();
  }
  return to_doubles(run.read("d/kernel"));
}

void check_golden(const std::string& text, const std::vector<double>& one,
                  const std::vector<double>& three) {
  INFO(text);
  const auto first = after(text, 1);
  const auto third = after(text, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(std::abs(first[i] - one[i]) < 2.5e-7);
    CHECK(std::abs(third[i] - three[i]) < 5e-7);
  }
}

std::string error_of(const std::string& text) {
  try {
    check_optimizer(optimizer(text));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("golden numbers of Keras's optimizers") {
  check_golden("SGD: {learning_rate: 0.1}", {0.99, -1.98}, {0.94, -1.88});
  check_golden("SGD: {learning_rate: 0.1, momentum: 0.9}", {0.99, -1.98}, {0.9049, -1.8098});
  check_golden("SGD: {learning_rate: 0.1, momentum: 0.9, nesterov: true}", {0.981, -1.962},
               {0.85441, -1.70882});
  check_golden("RMSprop", {0.99683785, -1.99683774}, {0.99139011, -1.99138999});
  check_golden("RMSprop: {momentum: 0.9, centered: true}", {0.99666685, -1.99666667},
               {0.98204142, -1.98204088});
  check_golden("Adam", {0.99900001, -1.99900007}, {0.99707687, -1.99707699});
  check_golden("AdamW", {0.99899602, -1.99899209}, {0.99706489, -1.99705303});
  check_golden("SGD: {learning_rate: 0.1, clipnorm: 0.1}", {0.99552786, -1.99105573},
               {0.98658359, -1.97316718});
  check_golden("SGD: {learning_rate: 0.1, weight_decay: 0.01}", {0.989, -1.978},
               {0.93704295, -1.8740859});
}

TEST_CASE("one weight has the same global norm as its own") {
  check_golden("SGD: {learning_rate: 0.1, global_clipnorm: 0.1}", {0.99552786, -1.99105573},
               {0.98658359, -1.97316718});
  check_golden("SGD: {learning_rate: 0.1, clipvalue: 0.15}", {0.99, -1.985}, {0.96, -1.955});
}

TEST_CASE("slots are named and typed as in Keras") {
  const Graph graph = program("Adam: {amsgrad: true}", {"d1/kernel", "d1/bias"});
  std::vector<std::string> paths;
  for (const Variable& variable : graph.variables) paths.push_back(variable.path);
  CHECK(paths == std::vector<std::string>{"d1/kernel", "d1/bias", "adam/d1_kernel_momentum",
                                          "adam/d1_kernel_velocity", "adam/d1_kernel_velocity_hat",
                                          "adam/d1_bias_momentum", "adam/d1_bias_velocity",
                                          "adam/d1_bias_velocity_hat"});
  const Variable& slot = graph.variables[2];
  CHECK(slot.slot_of == "d1/kernel");
  CHECK_FALSE(slot.trainable);
  CHECK(slot.init == &ops::kConstant);
  CHECK(slot.init_attrs.real("value") == 0.0);
  CHECK(graph.updates.size() == paths.size());
  CHECK(graph.nodes.back().phase == Phase::kUpdate);
  CHECK(graph.nodes.back().path == "adam");
}

TEST_CASE("a weight without a gradient stays as it is") {
  Graph graph = program("SGD", {"a/kernel", "b/kernel"});
  graph.updates.clear();
  GraphBuilder b(graph);
  const std::vector<Gradient> gradients = {{0, kNoValue}, {1, graph.variables[1].value}};
  add_optimizer(b, optimizer("Adam: {global_clipnorm: 1}"), gradients);
  verify(graph);
  CHECK(graph.updates.size() == 3);
  CHECK(graph.updates.back().variable == graph.variables[1].value);
  add_optimizer(b, optimizer("Adam: {global_clipnorm: 1}"), {});
  CHECK(graph.updates.size() == 3);
}

TEST_CASE("names of optimizers in paths") {
  const auto first_slot = [](const std::string& text) {
    return program(text, {"d/kernel"}).variables.at(1).path;
  };
  CHECK(first_slot("SGD: {momentum: 0.5}") == "sgd/d_kernel_momentum");
  CHECK(first_slot("RMSprop") == "rm_sprop/d_kernel_velocity");
  CHECK(first_slot("AdamW") == "adam_w/d_kernel_momentum");
  CHECK(first_slot("adamw: {name: mine}") == "mine/d_kernel_momentum");
  CHECK(program("SGD", {"d/kernel"}).variables.size() == 1);
}

TEST_CASE("scalars are computed once for all weights") {
  const auto count = [](const Graph& graph, const OpDef& op) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [&](const Node& node) { return node.op == &op; });
  };
  const Graph graph = program("AdamW: {global_clipnorm: 1}", {"a/kernel", "b/kernel", "c/kernel"});
  CHECK(count(graph, ops::kPower) == 2);
  CHECK(count(graph, ops::kCast) == 1);
  CHECK(count(graph, ops::kInput) == 5);  // three gradients, learning_rate, iteration
}

TEST_CASE("weight decay spares what is excluded, by the last part of the path") {
  const auto nodes = [](const std::string& text) {
    return program(text, {"bias_net/kernel", "bias_net/bias"}).nodes.size();
  };
  const std::size_t none = nodes("SGD");
  const std::size_t both = nodes("SGD: {weight_decay: 0.1}");
  const std::size_t one = nodes("SGD: {weight_decay: 0.1, exclude_from_weight_decay: [bias]}");
  CHECK(none < one);
  CHECK(one < both);
  CHECK(nodes("SGD: {weight_decay: 0.1, exclude_from_weight_decay: [\"^b\", \"k.*l$\"]}") == none);
}

TEST_CASE("errors of optimizers") {
  CHECK(error_of("Adam").empty());
  CHECK(error_of("ADAM: {learning_rate: 0.1}").empty());
  CHECK(error_of("Adan") == "c.yaml:1:1: there is no optimizer 'Adan'; nearest: 'Adam', 'AdamW'");
  CHECK(error_of("Adam: {beta1: 0.9}") ==
        "c.yaml:1:8: optimizer Adam has no key 'beta1'; nearest: 'beta_1', 'beta_2'");
  CHECK(error_of("Adam: {beta_1: 1.0}") ==
        "c.yaml:1:7: optimizer Adam: beta_1 is 1; give 0 or more and less than 1");
  CHECK(error_of("SGD: {momentum: 2}") ==
        "c.yaml:1:6: optimizer SGD: momentum is 2, not between 0 and 1");
  CHECK(error_of("SGD: {clipnorm: 1, clipvalue: 1}") ==
        "c.yaml:1:6: optimizer SGD: only one of clipnorm, clipvalue and global_clipnorm can be "
        "set; keep one");
  CHECK(error_of("SGD: {clipnorm: 0}") ==
        "c.yaml:1:6: optimizer SGD: clipnorm is 0; give more than 0, or leave it out");
  CHECK(error_of("SGD: {use_ema: true}") ==
        "c.yaml:1:6: optimizer SGD: use_ema is not supported yet; leave it out");
  CHECK(error_of("SGD: {use_ema: false, gradient_accumulation_steps: null}").empty());
  CHECK(error_of("SGD: {gradient_accumulation_steps: 2}") ==
        "c.yaml:1:36: optimizer SGD: gradient_accumulation_steps is not supported yet; leave it "
        "out");
  CHECK(error_of("SGD: {exclude_from_weight_decay: [\"(\"]}") ==
        "c.yaml:1:35: exclude_from_weight_decay: '(' is no regex: missing closing parenthesis at "
        "character 2");
}
