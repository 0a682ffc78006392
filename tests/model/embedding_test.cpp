#include <doctest/doctest.h>

#include <algorithm>

#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

const std::string kLayers = "layers: [Embedding: {name: tok, input_dim: 9, output_dim: 3}]";

/// What the Embedding of a graph looks up.
const Node& index_of(const Graph& graph) {
  const auto lookup = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const Node& node) { return node.op == &ops::kEmbedding; });
  REQUIRE(lookup != graph.nodes.end());
  return graph.node(lookup->inputs[1]);
}

}  // namespace

TEST_CASE("Embedding has Keras's variable and adds a dimension") {
  const Graph graph = build("model: {input: [7], " + kLayers + "}");
  CHECK(variable_paths(graph) == std::vector<std::string>{"tok/embeddings"});
  CHECK(graph.type(graph.variables[0].value).shape == Shape{9, 3});
  CHECK(graph.variables[0].init_attrs.real("high") == doctest::Approx(0.05));
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 7, 3});
  CHECK(build_error("model:\n  input: [7]\n  layers:\n    - Embedding: {input_dim: 0}\n") ==
        "c.yaml:4:30: layer 'embedding' (Embedding): input_dim is 0; give 1 or more");
}

TEST_CASE("whole numbers reach an Embedding as they are, also in bfloat16") {
  const std::string model = "model: {input: {shape: [7], dtype: int32}, " + kLayers + "}";
  const Graph graph = build("precision: mixed_bfloat16\n" + model);
  CHECK(graph.type(graph.layer_outputs[0].value) == TensorType{DType::kInt32, {4, 7}});
  for (const Node& node : graph.nodes) {
    CHECK_FALSE((node.op == &ops::kCast && node.type.shape == Shape{4, 7} &&
                 node.type.dtype == DType::kBFloat16));
  }
  // Keras rounds real numbers to bfloat16 before it takes them for rows: 257 would be 256.
  const Graph real = build("precision: mixed_bfloat16\nmodel: {input: [7], " + kLayers + "}");
  const Node& index = index_of(real);
  REQUIRE(index.op == &ops::kCast);
  CHECK(index.type.dtype == DType::kInt32);
}

TEST_CASE("other layers take whole numbers as real ones") {
  const Graph graph =
      build("model: {input: {shape: [7], dtype: int32}, layers: [Dense: {units: 2}]}");
  CHECK(graph.type(output_value(graph, "prediction")) == TensorType{DType::kFloat32, {4, 2}});
  CHECK(build_error("model:\n  input: {shape: [7], dtype: int8}\n  layers: [Flatten]\n") ==
        "c.yaml:2:30: input 'input': dtype 'int8' is unknown; nearest: 'int32'");
}

TEST_CASE(
    "fields of rows are found behind layers that keep their order, the smallest table first") {
  const auto tables = [](const std::string& model) {
    const config::Config config = config_of("model: {" + model + "}");
    return table_rows(config, stated_signature(config.model));
  };
  const auto one = tables(
      "input: [2, 3], layers: [Flatten, Embedding: {name: tok, input_dim: 9, "
      "output_dim: 3}]");
  REQUIRE(one.size() == 1);
  CHECK(one.at("input").count == 9);
  CHECK(one.at("input").path == "tok/embeddings");
  const auto two = tables(
      "inputs: {a: [2], b: [2]}, layers: [Embedding: {name: c, input_dim: 9, output_dim: 3, "
      "inputs: a}, Embedding: {name: d, input_dim: 5, output_dim: 3, inputs: a}, "
      "Dense: {name: e, units: 3, inputs: b}, Flatten: {name: f, inputs: c}, Flatten: {name: g, "
      "inputs: d}, Concatenate: {inputs: [e, f, g]}]");
  REQUIRE(two.size() == 1);
  CHECK(two.at("a").count == 5);
  CHECK(tables("input: [2], layers: [ReLU, Embedding: {input_dim: 9, output_dim: 3}]").empty());
}
