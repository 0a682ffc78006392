// Single layers, forward and backward, against Keras (tests/fixtures/layers/calls.*, made by
// scripts/make_layer_fixtures.py)
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "autodiff/gradients.h"
#include "backend/backend.h"
#include "config/yaml.h"
#include "model/build.h"
#include "ops/ops.h"
#include "support/interpreter.h"
#include "support/npz.h"

using namespace meshwork;

namespace {

const std::string kCalls = "tests/fixtures/layers/calls";
constexpr double kTolerance = 5e-6;

config::Value call_texts() {
  std::ifstream file(kCalls + ".yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return config::parse_yaml(text.str(), "calls.yaml");
}

/// One call: a model of one layer, the gradients of sum(y dy), and the updates of its state.
struct Call {
  std::string name;
  Graph graph;
  ValueId y = kNoValue;
  std::vector<ValueId> gradients;  ///< of the input, then of the variables

  HostTensor array(const std::string& key) const {
    return read_npz(kCalls + ".npz", name + "/" + key);
  }
  /// What the file has of a variable; a single number stands there as an array of one, a whole one
  /// as a float.
  HostTensor array(const std::string& kind, const Variable& variable) const {
    HostTensor result = array(kind + "/" + variable.path);
    const TensorType& type = graph.type(variable.value);
    if (type.shape.empty()) result.type.shape = {};
    if (type.dtype != DType::kInt32) return result;
    const auto floats = result.as<float>();
    return host_tensor(type.shape, std::vector<std::int32_t>(floats.begin(), floats.end()));
  }
};

/// `more`: keys of the configuration beside.
Call make_call(const std::string& name, const std::string& model, const std::string& more = "") {
  Call call{.name = name, .graph = {}, .y = kNoValue, .gradients = {}};
  const Shape shape = call.array("y").type.shape;
  const bool training = name.starts_with("training");
  const std::string text = more + "model: " + model + "\ncompile: {loss: mse}\n";
  const Field label{"label", DType::kFloat32, {shape.begin() + 1, shape.end()}};
  call.graph = build(text, training ? Mode::kTrain : Mode::kPredict, shape[0], {label});
  GraphBuilder b(call.graph);
  for (const NamedValue& output : call.graph.layer_outputs) {
    if (output.name == "prediction") call.y = output.value;
  }
  std::vector<ValueId> wrt = {ops::input(b, "input", {DType::kFloat32, b.shape(0)})};
  for (const Variable& variable : call.graph.variables) wrt.push_back(variable.value);
  const ValueId dy = ops::input(b, "dy", b.type(call.y));
  const ValueId product = ops::multiply(b, call.y, dy);
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  call.gradients = gradients(b, ops::reduce_sum(b, product, axes, false), wrt);
  return call;
}

/// What a run has of a gradient; zeros where the output does not depend on it.
HostTensor read_gradient(const Interpreter& run, ValueId gradient, const HostTensor& expected) {
  return gradient == kNoValue ? host_tensor(expected.type) : run.read(gradient);
}

/// The update of a variable, kNoValue if it has none.
ValueId update_of(const Graph& graph, ValueId variable) {
  for (const Update& update : graph.updates) {
    if (update.variable == variable) return update.value;
  }
  return kNoValue;
}

void check_state(const Call& call, const Interpreter& run) {
  for (std::size_t i = 0; i < call.graph.variables.size(); ++i) {
    const Variable& variable = call.graph.variables[i];
    INFO(variable.path);
    if (variable.trainable) {
      const HostTensor expected = call.array("grad", variable);
      const HostTensor found = read_gradient(run, call.gradients[i + 1], expected);
      CHECK(difference(found, expected, kTolerance) == "");
    }
    const ValueId update = update_of(call.graph, variable.value);
    const auto updates = npz_names(kCalls + ".npz", call.name + "/update/" + variable.path);
    CHECK((update != kNoValue) == !updates.empty());
    if (update == kNoValue) continue;
    CHECK(difference(run.read(update), call.array("update", variable), kTolerance) == "");
  }
}

void check_call(const Call& call, Backend& backend) {
  Interpreter run(call.graph, backend);
  run.feed("input", call.array("x"));
  run.feed("dy", call.array("dy"));
  const auto variables = npz_names(kCalls + ".npz", call.name + "/initial/");
  CHECK(variables.size() == call.graph.variables.size());
  for (const Variable& variable : call.graph.variables) {
    run.feed(variable.path, call.array("initial", variable));
  }
  run.run();
  CHECK(difference(run.read(call.y), call.array("y"), kTolerance) == "");
  const HostTensor dx = call.array("dx");
  CHECK(difference(read_gradient(run, call.gradients[0], dx), dx, kTolerance) == "");
  check_state(call, run);
}

}  // namespace

TEST_CASE("layers give Keras's outputs, gradients and updates") {
  const config::Value texts = call_texts();
  CHECK(texts.map.size() > 80);
  const auto naive = make_reference_backend();
  const auto fast = make_cpu_backend(1);
  for (const config::Value::Entry& entry : texts.map) {
    const std::string& name = entry.key;
    CAPTURE(name);
    const Call call = make_call(name, entry.value.scalar);
    for (Backend* backend : {naive.get(), fast.get()}) check_call(call, *backend);
  }
}

TEST_CASE("layers give the same in 16 bits, but for rounding") {
  const config::Value texts = call_texts();
  const auto fast = make_cpu_backend(1);
  for (const std::string policy : {"mixed_bfloat16", "mixed_float16"}) {
    const double tolerance = policy == "mixed_bfloat16" ? 0.05 : 0.01;
    CAPTURE(policy);
    for (const config::Value::Entry& entry : texts.map) {
      CAPTURE(entry.key);
      const Call call = make_call(entry.key, entry.value.scalar, "precision: " + policy + "\n");
      Interpreter run(call.graph, *fast);
      run.feed("input", call.array("x"));
      for (const Variable& variable : call.graph.variables) {
        run.feed(variable.path, call.array("initial", variable));
      }
      run.run();
      CHECK(difference(run.read(call.y), call.array("y"), tolerance) == "");
    }
  }
}
