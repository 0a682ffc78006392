// Arguments of MultiHeadAttention and GroupQueryAttention; their numbers: keras_calls_test.cpp
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "model/build.h"

using namespace meshwork;

namespace {

Graph with_layer(const std::string& layer) {
  return build("model: {input: [5, 6], layers: [" + layer + "]}");
}

std::string error_of(const std::string& layer, const std::string& input = "[5, 6]") {
  return build_error("model: {input: " + input + ", layers: [" + layer + "]}");
}

Shape shape_of(const Graph& graph, const std::string& path) {
  for (const Variable& variable : graph.variables) {
    if (graph.node(variable.value).attrs.text("path") == path) {
      return graph.type(variable.value).shape;
    }
  }
  return {};
}

std::int64_t count_of(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return node.op->name == op; });
}

}  // namespace

TEST_CASE("attention with heads has Keras's variables") {
  const Graph graph = with_layer(
      "MultiHeadAttention: {name: a, num_heads: 2, key_dim: 3, value_dim: 4, use_gate: true, "
      "inputs: [input, input]}");
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{"a/query/kernel", "a/query/bias", "a/key/kernel", "a/key/bias",
                                 "a/gate/kernel", "a/gate/bias", "a/value/kernel", "a/value/bias",
                                 "a/attention_output/kernel", "a/attention_output/bias"});
  CHECK(shape_of(graph, "a/query/kernel") == Shape{6, 2, 3});
  CHECK(shape_of(graph, "a/key/bias") == Shape{2, 3});
  CHECK(shape_of(graph, "a/gate/kernel") == Shape{6, 2, 4});
  CHECK(shape_of(graph, "a/value/kernel") == Shape{6, 2, 4});
  CHECK(shape_of(graph, "a/attention_output/kernel") == Shape{2, 4, 6});
  CHECK(shape_of(graph, "a/attention_output/bias") == Shape{6});
}

TEST_CASE("groups of query heads share a head of keys and values") {
  const Graph graph = with_layer(
      "GroupQueryAttention: {name: a, head_dim: 3, num_query_heads: 4, num_key_value_heads: 2, "
      "use_bias: false, inputs: [input, input]}");
  CHECK(variable_paths(graph) == std::vector<std::string>{"a/query/kernel", "a/key/kernel",
                                                          "a/value/kernel",
                                                          "a/attention_output/kernel"});
  CHECK(shape_of(graph, "a/query/kernel") == Shape{6, 4, 3});
  CHECK(shape_of(graph, "a/key/kernel") == Shape{6, 2, 3});
  CHECK(shape_of(graph, "a/attention_output/kernel") == Shape{4, 3, 6});
}

TEST_CASE("attention with heads is one op, whatever the mask, and holds no weights") {
  const Graph graph = with_layer(
      "MultiHeadAttention: {num_heads: 2, key_dim: 3, use_causal_mask: true, sliding_window: 2, "
      "inputs: [input, input]}");
  CHECK(count_of(graph, "attention") == 1);
  CHECK(count_of(graph, "softmax") == 0);
  for (const Node& node : graph.nodes) {
    // The batch of these tests is 4.
    CHECK(num_elements(node.type.shape) <= 4 * 5 * 6);
  }
}

TEST_CASE("output_shape may have several dimensions, and attention goes over chosen axes") {
  const Graph graph = build(
      "model: {input: [5, 3, 6], layers: [MultiHeadAttention: {num_heads: 2, key_dim: 3, "
      "attention_axes: [-2], output_shape: [2, 7], inputs: [input, input]}]}");
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 5, 3, 2, 7});
}

TEST_CASE("what attention with heads cannot take is an error that says what fits") {
  const std::string heads = "MultiHeadAttention: {num_heads: 2, key_dim: 3, ";
  CHECK(error_of("MultiHeadAttention: {num_heads: 0, key_dim: 3, inputs: [input, input]}")
            .find("num_heads") != std::string::npos);
  CHECK(error_of("MultiHeadAttention: {num_heads: 2, inputs: [input, input]}").find("key_dim") !=
        std::string::npos);
  CHECK(error_of(heads + "inputs: [input, input]}", "[6]").find("[steps, features]") !=
        std::string::npos);
  CHECK(error_of(heads + "sliding_window: 0, inputs: [input, input]}").find("sliding_window") !=
        std::string::npos);
  CHECK(error_of("Conv1D: {name: k, filters: 6, kernel_size: 2}, " + heads +
                 "inputs: [input, input, k]}")
            .find("samples [5, 6] and [4, 6]") != std::string::npos);
  CHECK(error_of(heads + "inputs: [input, input, input, input]}").find("it needs [5, 5]") !=
        std::string::npos);
  CHECK(error_of(heads + "attention_axes: 3, inputs: [input, input]}").find("axis") !=
        std::string::npos);
  CHECK(error_of(heads + "attention_axes: 2, inputs: [input, input]}").find("attention_axes") !=
        std::string::npos);
  CHECK(error_of(heads + "use_causal_mask: true, inputs: [input, input]}", "[5, 3, 6]")
            .find("use_causal_mask") != std::string::npos);
  CHECK(error_of("GroupQueryAttention: {head_dim: 3, num_query_heads: 4, num_key_value_heads: 3, "
                 "inputs: [input, input]}")
            .find("multiple") != std::string::npos);
}
