#include "optim/optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/ops.h"
#include "optim/optimizer_text.h"
#include "support/interpreter.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using AddUpdates = void (*)(GraphBuilder&, const config::ClassSpec&, std::span<const Update>);

/// A program with weights of two elements at `paths`, gradients as inputs "g0", "g1", and the
/// optimizer.
Graph program(const std::string& text, const std::vector<std::string>& paths,
              AddUpdates add_updates = add_optimizer,
              const std::function<void(GraphBuilder&, ValueId weight)>& constrain = {}) {
  Graph graph;
  GraphBuilder b(graph);
  std::vector<Update> gradients;
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
    if (constrain) constrain(b, value);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    gradients.push_back({graph.variables[i].value, ops::input(b, "g" + std::to_string(i), type)});
  }
  add_updates(b, optimizer(text), gradients);
  verify(graph);
  return graph;
}

void feed_iteration(Interpreter& run, const Graph& graph, std::int64_t number) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    if (graph.type(id).dtype != DType::kInt64) continue;
    HostTensor iteration = host_tensor(graph.type(id));
    iteration.as<std::int64_t>()[0] = number;
    run.feed(id, iteration);
  }
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
    feed_iteration(run, graph, step);
    run.run();
    run.update();
  }
  return to_doubles(run.read("d/kernel"));
}

/// The first weight after each of the steps of section 13, where some only accumulate gradients.
std::vector<double> every_step(const std::string& text, int steps) {
  const std::int64_t per_update = steps_per_update(optimizer(text));
  const Graph updates = program(text, {"d/kernel"});
  const Graph accumulates = program(text, {"d/kernel"}, add_accumulation);
  const auto backend = make_reference_backend();
  std::map<std::string, HostTensor> variables{
      {"d/kernel", host_tensor({2}, std::vector<float>{1, -2})}};
  const Schedule rate = learning_rate_of(optimizer(text));
  std::vector<double> result;
  for (int step = 0; step < steps; ++step) {
    const Graph& graph = (step + 1) % per_update == 0 ? updates : accumulates;
    Interpreter run(graph, *backend);
    run.initialize();
    for (const Variable& variable : graph.variables) {
      const auto known = variables.find(variable.path);
      if (known != variables.end()) run.feed(known->first, known->second);
    }
    const auto s = static_cast<float>(step + 1);
    run.feed("g0", host_tensor({2}, std::vector<float>{s * 0.1F, s * -0.2F}));
    if (&graph == &updates) {
      const auto now = static_cast<float>(rate(step));
      run.feed("learning_rate", host_tensor({}, std::vector<float>{now}));
    }
    feed_iteration(run, graph, step);
    run.run();
    run.update();
    for (const Variable& variable : graph.variables) {
      variables[variable.path] = run.read(variable.value);
    }
    result.push_back(to_doubles(variables.at("d/kernel"))[0]);
  }
  return result;
}

void check_steps(const std::string& text, const std::vector<double>& expected) {
  INFO(text);
  const std::vector<double> found = every_step(text, static_cast<int>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("step ", i + 1);
    CHECK(std::abs(found[i] - expected[i]) < 5e-7);
  }
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

// Recorded from Keras 3.15 on jax.
TEST_CASE("gradients of several steps make one update") {
  check_steps("SGD: {learning_rate: 0.1, gradient_accumulation_steps: 2}",
              {1.0, 0.985, 0.985, 0.95, 0.95});
  check_steps("Adam: {learning_rate: 0.1, gradient_accumulation_steps: 3}",
              {1.0, 1.0, 0.90000224, 0.90000224, 0.90000224, 0.80603302, 0.80603302});
  check_steps(
      "AdamW: {learning_rate: 0.1, weight_decay: 0.1, clipnorm: 0.05, "
      "gradient_accumulation_steps: 2}",
      {1.0, 0.89001483, 0.89001483, 0.78112566, 0.78112566});
  // A schedule sees every step.
  check_steps(
      "SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [1, 3], values: [0.1, 0.01, "
      "0.5]}}, gradient_accumulation_steps: 2}",
      {1.0, 0.98500001, 0.98500001, 0.98150003, 0.98150003, 0.70650005});
}

TEST_CASE("the average of the weights takes their place at times") {
  check_steps(
      "SGD: {learning_rate: 0.1, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 3}",
      {0.99000001, 0.97000003, 0.96000004, 0.92000002, 0.87, 0.85750002, 0.78750002});
  check_steps(
      "SGD: {learning_rate: 0.1, gradient_accumulation_steps: 2, use_ema: true, ema_momentum: 0.5, "
      "ema_overwrite_frequency: 2}",
      {1.0, 0.98500001, 0.98500001, 0.96749997, 0.96749997, 0.91249996, 0.92624998, 0.88874996,
       0.88874996});
}

TEST_CASE("programs that accumulate share the first slots of those that update") {
  const std::string text = "Adam: {gradient_accumulation_steps: 3, use_ema: true}";
  const Graph updates = program(text, {"d1/kernel", "d1/bias"});
  const Graph accumulates = program(text, {"d1/kernel", "d1/bias"}, add_accumulation);
  std::vector<std::string> paths;
  for (const Variable& variable : accumulates.variables) paths.push_back(variable.path);
  CHECK(paths == std::vector<std::string>{
                     "d1/kernel", "d1/bias", "adam/d1_kernel_average", "adam/d1_bias_average",
                     "adam/d1_kernel_gradient_accumulator", "adam/d1_bias_gradient_accumulator"});
  REQUIRE(updates.variables.size() == 10);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK(updates.variables[i].path == paths[i]);
    CHECK(updates.variables[i].slot_of == accumulates.variables[i].slot_of);
  }
  // Weights stay as they are between updates; only what is kept of them changes.
  CHECK(accumulates.updates.size() == 4);
  const std::vector<Update> in_place = averages_in_place(updates, optimizer(text));
  REQUIRE(in_place.size() == 2);
  CHECK(in_place[1].variable == updates.variables[1].value);
  CHECK(in_place[1].value == updates.variables[3].value);
  CHECK(averages_in_place(program("Adam", {"d/kernel"}), optimizer("Adam")).empty());
}

TEST_CASE("where a learning rate is a schedule") {
  CHECK_FALSE(schedule_of(optimizer("Adam")));
  CHECK_FALSE(schedule_of(optimizer("Adam: {learning_rate: 0.1}")));
  const auto schedule = schedule_of(
      optimizer("SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 1, decay_steps: 2}}}"));
  REQUIRE(schedule);
  CHECK(schedule->name == "CosineDecay");
  CHECK(config::to_string(schedule->at) == "c.yaml:1:23");
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
  const std::vector<Update> gradients = {{graph.variables[0].value, kNoValue},
                                         {graph.variables[1].value, graph.variables[1].value}};
  add_optimizer(b, optimizer("Adam: {global_clipnorm: 1}"), gradients);
  verify(graph);
  CHECK(graph.updates.size() == 3);
  CHECK(graph.updates.back().variable == graph.variables[1].value);
  add_optimizer(b, optimizer("Adam: {global_clipnorm: 1}"), {});
  CHECK(graph.updates.size() == 3);
}

TEST_CASE("every optimizer ends with the constraint that an update of the weight stands for") {
  for (const char* text : {"sgd", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw",
                           "ftrl", "lamb", "lion", "muon", "nadam", "rmsprop", "ScheduleFreeAdamW",
                           "Adam: {use_ema: true}", "Adam: {gradient_accumulation_steps: 2}"}) {
    CAPTURE(text);
    for (const AddUpdates add : {AddUpdates{add_optimizer}, AddUpdates{add_accumulation}}) {
      const auto constrain = [](GraphBuilder& b, ValueId w) {
        b.graph().updates.push_back({w, b.add(ops::kRelu, {w})});
      };
      const Graph graph = program(text, {"d/kernel"}, add, constrain);
      const ValueId weight = graph.variables[0].value;
      std::vector<ValueId> values;
      for (const Update& update : graph.updates) {
        if (update.variable == weight) values.push_back(update.value);
      }
      REQUIRE(values.size() == 1);
      CHECK(graph.node(values[0]).op == &ops::kRelu);
      CHECK(graph.node(values[0]).phase == Phase::kUpdate);
    }
  }
}

TEST_CASE("names of optimizers in paths") {
  const auto first_slot = [](const std::string& text) {
    return program(text, {"d/kernel"}).variables.at(1).path;
  };
  CHECK(first_slot("SGD: {momentum: 0.5}") == "sgd/d_kernel_momentum");
  CHECK(first_slot("RMSprop") == "rm_sprop/d_kernel_velocity");
  CHECK(first_slot("AdamW") == "adam_w/d_kernel_momentum");
  CHECK(first_slot("ScheduleFreeAdamW") == "schedule_free_adam_w/d_kernel_momentum");
  CHECK(first_slot("adamw: {name: mine}") == "mine/d_kernel_momentum");
  CHECK(program("SGD", {"d/kernel"}).variables.size() == 1);
}

TEST_CASE("what an optimizer keeps of no weight, it keeps once") {
  const Graph graph = program("Nadam", {"a/kernel", "b/kernel"});
  CHECK(graph.variables.size() == 7);  // two weights, two slots of each
  CHECK(graph.updates.size() == 7);
  CHECK(std::ranges::count(graph.variables, "nadam/u_product", &Variable::path) == 1);
}

TEST_CASE("slots begin with what the optimizer says") {
  const Graph graph = program("Adagrad: {initial_accumulator_value: 0.5}", {"a/kernel"});
  CHECK(graph.variables.at(1).init_attrs.real("value") == 0.5);
}

TEST_CASE("Muon leaves to Adam what is no matrix, embeddings and excluded layers") {
  const auto slots = [](const std::string& text) {
    Graph graph;
    GraphBuilder b(graph);
    std::vector<Update> gradients;
    const std::vector<std::pair<std::string, Shape>> weights{
        {"d/kernel", {3, 4}}, {"d/bias", {4}}, {"Embedding/table", {5, 3}}};
    for (const auto& [path, shape] : weights) {
      const ValueId value =
          b.add(ops::kVariable, {}, {{"path", path}, {"dtype", "float32"}, {"shape", shape}});
      graph.variables.push_back({.value = value,
                                 .path = path,
                                 .trainable = true,
                                 .slot_of = {},
                                 .init = &ops::kConstant,
                                 .init_attrs = {{"value", 0.0}, {"shape", shape}}});
      gradients.push_back({value, ops::input(b, "g" + path, {DType::kFloat32, shape})});
    }
    add_optimizer(b, optimizer(text), gradients);
    verify(graph);
    std::string list;
    for (const Variable& variable : graph.variables) {
      const bool is_second = variable.path.ends_with("_velocity");
      if (is_second) list += variable.slot_of + " ";
    }
    return list;
  };
  CHECK(slots("Muon") == "d/bias Embedding/table ");
  CHECK(slots("Muon: {exclude_embeddings: false}") == "d/bias ");
  CHECK(slots("Muon: {exclude_layers: ['^d/']}") == "d/kernel d/bias Embedding/table ");
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

TEST_CASE("two weights whose state would have one path are an error") {
  for (const char* text : {"Adam", "LossScaleOptimizer: {inner_optimizer: {Adam: {}}}"}) {
    CHECK_THROWS_WITH_AS(program(text, {"a/b_c", "d", "a_b/c"}),
                         doctest::Contains("/a_b_c_momentum: the optimizer state of two weights "
                                           "would have this path; rename a layer"),
                         Error);
  }
  CHECK_THROWS_AS(
      program("Adam: {gradient_accumulation_steps: 3}", {"a/b_c", "a_b/c"}, add_accumulation),
      Error);
}

TEST_CASE("errors of optimizers") {
  CHECK(error_of("Adam").empty());
  CHECK(error_of("ADAM: {learning_rate: 0.1}").empty());
  CHECK(error_of("ScheduleFreeAdamW: {beta_1: 0}") ==
        "c.yaml:1:29: optimizer ScheduleFreeAdamW: beta_1 is 0; give more than 0 and less than 1");
  CHECK(error_of("Adan") == "c.yaml:1:1: there is no optimizer 'Adan'; nearest: 'Adam', 'AdamW'");
  CHECK(error_of("Adam: {beta1: 0.9}") ==
        "c.yaml:1:8: optimizer Adam has no key 'beta1'; nearest: 'beta_1', 'beta_2'");
  CHECK(error_of("Adam: {beta_1: 1.0}") ==
        "c.yaml:1:16: optimizer Adam: beta_1 is 1.0; give 0 or more and less than 1");
  CHECK(error_of("SGD: {momentum: 2}") ==
        "c.yaml:1:17: optimizer SGD: momentum is 2, not between 0 and 1");
  CHECK(error_of("SGD: {clipnorm: 1, clipvalue: 1}") ==
        "c.yaml:1:6: optimizer SGD: only one of clipnorm, clipvalue and global_clipnorm can be "
        "set; keep one");
  CHECK(error_of("SGD: {clipnorm: 0}") ==
        "c.yaml:1:17: optimizer SGD: clipnorm is 0; give more than 0, or leave it out");
  CHECK(error_of("SGD: {use_ema: true, ema_momentum: 1.5}") ==
        "c.yaml:1:36: optimizer SGD: ema_momentum is 1.5, not between 0 and 1");
  CHECK(
      error_of("SGD: {use_ema: true, ema_overwrite_frequency: 0}") ==
      "c.yaml:1:47: optimizer SGD: ema_overwrite_frequency is 0; give 1 or more, or leave it out");
  CHECK(error_of("SGD: {use_ema: false, ema_momentum: 2, gradient_accumulation_steps: null}") ==
        "");
  CHECK(error_of("SGD: {gradient_accumulation_steps: 1}") ==
        "c.yaml:1:36: optimizer SGD: gradient_accumulation_steps is 1; give 2 or more, or leave it "
        "out");
  CHECK(error_of("SGD: {exclude_from_weight_decay: ['.*/bias']}") ==
        "c.yaml:1:35: exclude_from_weight_decay: '.*/bias' has a '/', and is searched for in the "
        "last part of a variable's path, which has none, as in Keras; write that part, 'bias'");
  CHECK(error_of("SGD: {exclude_from_weight_decay: [\"(\"]}") ==
        "c.yaml:1:35: exclude_from_weight_decay: '(' is not a regular expression: missing closing "
        "parenthesis at "
        "character 2");
}
