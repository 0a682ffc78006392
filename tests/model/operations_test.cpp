// Keras's operations as layers: shapes, dtypes, messages, and gradients where they have no slope.
// Their numbers are in keras_calls_test.cpp.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "autodiff/gradients.h"
#include "backend/backend.h"
#include "model/build.h"
#include "ops/ops.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

std::string model_of(const std::string& input, const std::string& layers) {
  return "model: {input: " + input + ", layers: [" + layers + "]}\n";
}

/// Shape of a sample of the output.
Shape output_shape(const std::string& input, const std::string& layers) {
  const Graph graph = build(model_of(input, layers));
  const Shape& shape = graph.type(output_value(graph, "prediction")).shape;
  return {shape.begin() + 1, shape.end()};
}

/// The message for a layer of samples [6, 4], from its name on.
std::string error_of(const std::string& layer) {
  const std::string message = build_error("model:\n  input: [6, 4]\n  layers:\n    - " + layer);
  const std::size_t name = message.find("layer '");
  return message.substr(name == std::string::npos ? 0 : name);
}

DType output_dtype(const std::string& text, std::string_view layer) {
  const Graph graph = build(text);
  for (const NamedValue& output : graph.layer_outputs) {
    if (output.name == layer) return graph.type(output.value).dtype;
  }
  throw std::invalid_argument(std::string(layer));
}

/// Of the sum of what a layer gives for samples [1].
std::vector<double> slopes(const std::string& layer, const std::vector<float>& x) {
  const auto samples = static_cast<std::int64_t>(x.size());
  Graph graph = build(model_of("[1]", layer), Mode::kPredict, samples);
  GraphBuilder b(graph);
  const ValueId y = ops::reduce_sum(b, output_value(graph, "prediction"), {0, 1}, false);
  const ValueId input = ops::input(b, "input", {DType::kFloat32, {samples, 1}});
  const ValueId dx = gradients(b, y, std::vector{input})[0];
  if (dx == kNoValue) return std::vector<double>(x.size(), 0);
  const auto backend = make_cpu_backend(1);
  Interpreter run(graph, *backend);
  run.feed("input", host_tensor({samples, 1}, x));
  run.run();
  return to_doubles(run.read(dx));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("operations have numpy's shapes") {
  CHECK(output_shape("[6, 4]", "Sqrt, Power: {x2: 2}, Clip: {x_min: 0}") == Shape{6, 4});
  CHECK(output_shape("[6, 4]", "Sum: {axis: 1}") == Shape{4});
  CHECK(output_shape("[6, 4]", "Max: {axis: [2, 1], keepdims: true}") == Shape{1, 1});
  CHECK(output_shape("[6]", "Mean: {axis: -1}").empty());
  CHECK(output_shape("[6, 4]", "Roll: {axis: [1, 2], shift: 9}") == Shape{6, 4});
  CHECK(output_shape("[6, 4]", "GetItem: {key: \":, 0\"}") == Shape{4});
  CHECK(output_shape("[6, 4]", "GetItem: {key: \"..., -1\"}") == Shape{6});
  CHECK(output_shape("[6, 4]", "GetItem: {key: [\":\", \"1:-1\", 2]}") == Shape{4});
  CHECK(output_shape("[6, 4]", "GetItem: {key: [\":\", null, \"-9:9:4\"]}") == Shape{1, 2, 4});
  CHECK(output_shape("[6, 4]", "GetItem: {key: \":, ::9223372036854775807\"}") == Shape{1, 4});
  CHECK(output_shape("[6, 4]", "GetItem: {key: \":\"}") == Shape{6, 4});
}

TEST_CASE("operations say what does not fit, and how it would") {
  CHECK(error_of("Sum") ==
        "layer 'sum' (Sum): without an axis it would go over the batch, too; give 1 to 2, or -1 "
        "for the last, or a list of these");
  CHECK(error_of("Roll: {shift: 1, axis: [1, 0]}") ==
        "layer 'roll' (Roll): axis 0 is the batch; give 1 to 2, or -1 for the last");
  CHECK(error_of("Max: {axis: 1, initial: 0}").find("'initial' is not supported yet") !=
        std::string::npos);
  CHECK(error_of("Divide: {x2: 2, inputs: [input, input]}") ==
        "layer 'divide' (Divide): it takes two inputs, inputs: [a, b], or one and a number, x1: 2 "
        "or x2: "
        "2");
  CHECK(error_of("Divide: {x1: 2, x2: 2}").find("or one and a number") != std::string::npos);
  CHECK(error_of("Power") ==
        "layer 'power' (Power): it takes two inputs, inputs: [a, b], or one and a number, x1: 2 or "
        "x2: "
        "2");
  CHECK(error_of("Sum: {axis: 1}\n    - Divide: {inputs: [input, sum]}") ==
        "layer 'divide' (Divide): samples [6, 4] and [4] do not broadcast; bring them to as many "
        "dimensions, each the same or 1, by Reshape");
  CHECK(error_of("Clip: {x_min: 2, x_max: 1}") ==
        "layer 'clip' (Clip): x_min is 2, above x_max, 1");
  CHECK(error_of("Clip") == "layer 'clip' (Clip): it has no bound; give x_min, x_max or both");
  CHECK(error_of("Sqrt: {dtype: float32}") ==
        "layer 'sqrt' (Sqrt): Keras's operations have no 'dtype'; give it to a layer before or "
        "behind");
  CHECK(error_of("TimeDistributed: {layer: {Sqrt: {}}}") ==
        "c.yaml:4:33: layer: 'Sqrt' is an operation, and Keras takes a layer here; put it "
        "behind");
}

TEST_CASE("a key of GetItem that takes nothing, or of the batch, is refused") {
  const auto error = [](const std::string& key) {
    const std::string message = error_of("GetItem: {key: \"" + key + "\"}");
    return message.substr(message.find("key"));
  };
  CHECK(error("0") == "key begins with the batch, which stays whole; begin with ':' or '...'");
  CHECK(error("None, :") == error("0"));
  CHECK(error(":, 6") == "key has 6 for dimension 1 of extent 6; give -6 to 5");
  CHECK(error(":, 3:3") == "key leaves nothing of dimension 1, of extent 6");
  CHECK(error(":, ::-1") == "key: the step of '::-1' is -1; give 1 or more");
  CHECK(error(":, 1:2:3:4") == "key: '1:2:3:4' is no start:stop:step");
  CHECK(error(":, a") == "key must be an integer, not 'a'");
  CHECK(error("..., ...") == "key has '...' 2 times; give it once");
  CHECK(error(":, 0, 0, 0") ==
        "key has 4 parts for 3 dimensions, the batch and those of a sample [6, 4]");
}

TEST_CASE("operations compute in the dtype of their inputs, as Keras's") {
  const std::string mixed = "precision: mixed_bfloat16\n";
  const std::string layers =
      "Sqrt: {name: s}, Dense: {name: d, units: 4}, Mean: {name: m, axis: -1, keepdims: true}, "
      "Divide: {name: n, x2: 3}, Divide: {name: e, inputs: [d, n]}, Divide: {name: both, inputs: "
      "[e, s]}";
  const std::string text = mixed + model_of("[4]", layers);
  CHECK(output_dtype(text, "s/output") == DType::kFloat32);
  CHECK(output_dtype(text, "m/output") == DType::kBFloat16);
  CHECK(output_dtype(text, "n/output") == DType::kBFloat16);
  CHECK(output_dtype(text, "both/output") == DType::kFloat32);
}

TEST_CASE("what moves numbers keeps them whole, what computes makes them real") {
  const std::string input = "{shape: [6], dtype: int32}";
  const std::string text =
      model_of(input,
               "GetItem: {name: g, key: \":, 1::2\"}, Roll: {name: r, shift: 1, axis: 1}, "
               "StopGradient: {name: s}, Embedding: {input_dim: 9, output_dim: 2}");
  for (const char* layer : {"g/output", "r/output", "s/output"}) {
    CHECK(output_dtype(text, layer) == DType::kInt32);
  }
  CHECK(output_dtype(model_of(input, "Square: {name: q}"), "q/output") == DType::kFloat32);
}

TEST_CASE("gradients where a formula has none are Keras's, but that of |x| at 0") {
  CHECK(slopes("Absolute", {-1, 0, 1}) == std::vector<double>{-1, 0, 1});
  CHECK(slopes("Sqrt", {0, 4}) == std::vector<double>{kInfinity, 0.25});
  CHECK(slopes("Rsqrt", {0, 4})[0] == -kInfinity);
  CHECK(slopes("Log", {0, -1}) == std::vector<double>{kInfinity, -1});
  CHECK(slopes("Reciprocal", {0, 2}) == std::vector<double>{-kInfinity, -0.25});
  CHECK(slopes("Power: {x2: 2}", {-2, 0, 3}) == std::vector<double>{-4, 0, 6});
  CHECK(slopes("Power: {x2: 0}", {-2, 0}) == std::vector<double>{0, 0});
  CHECK(slopes("Power: {x2: 0.5}", {0, 4}) == std::vector<double>{kInfinity, 0.25});
  CHECK(slopes("Clip: {x_min: -1, x_max: 1}", {-1, 1, 0, 2}) ==
        std::vector<double>{0.5, 0.5, 1, 0});
  for (const char* layer : {"Floor", "Sign", "StopGradient"}) {
    CHECK(slopes(layer, {0.5, 2}) == std::vector<double>{0, 0});
  }
}
