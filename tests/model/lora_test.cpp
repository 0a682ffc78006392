// Low-rank adaptation of weights; its numbers: keras_calls_test.cpp
#include <doctest/doctest.h>

#include "model/build.h"

using namespace meshwork;

namespace {

/// Of the variables that the optimizer changes.
std::vector<std::string> trained_paths(const Graph& graph) {
  std::vector<std::string> paths;
  for (const Variable& variable : graph.variables) {
    if (variable.trainable) paths.push_back(variable.path);
  }
  return paths;
}

Graph graph_of(const std::string& input, const std::string& layer) {
  return build("model: {input: " + input + ", layers: [" + layer + "]}");
}

Shape shape_of(const Graph& graph, const std::string& path) {
  for (const Variable& variable : graph.variables) {
    if (variable.path == path) return graph.type(variable.value).shape;
  }
  return {};
}

}  // namespace

TEST_CASE("LoRA freezes the kernel, and trains its factors and the bias") {
  const Graph dense = graph_of("[6]", "Dense: {name: d, units: 4, lora_rank: 2}");
  CHECK(variable_paths(dense) ==
        std::vector<std::string>{"d/kernel", "d/bias", "d/lora_kernel_a", "d/lora_kernel_b"});
  CHECK(trained_paths(dense) ==
        std::vector<std::string>{"d/bias", "d/lora_kernel_a", "d/lora_kernel_b"});
  CHECK(shape_of(dense, "d/lora_kernel_a") == Shape{6, 2});
  CHECK(shape_of(dense, "d/lora_kernel_b") == Shape{2, 4});
  const Graph heads = graph_of(
      "[5, 6]",
      "EinsumDense: {name: e, equation: 'abc,cde->abde', output_shape: [5, 2, 3], lora_rank: 4}");
  CHECK(trained_paths(heads) == std::vector<std::string>{"e/lora_kernel_a", "e/lora_kernel_b"});
  CHECK(shape_of(heads, "e/lora_kernel_a") == Shape{6, 2, 4});
  CHECK(shape_of(heads, "e/lora_kernel_b") == Shape{4, 3});
  const Graph table =
      graph_of("[5]", "Embedding: {name: t, input_dim: 9, output_dim: 3, lora_rank: 2}");
  CHECK(trained_paths(table) ==
        std::vector<std::string>{"t/lora_embeddings_a", "t/lora_embeddings_b"});
}

TEST_CASE("LoRA starts with a product of zero, and goes with a frozen layer") {
  const Graph graph = graph_of("[6]", "Dense: {name: d, units: 4, lora_rank: 3}");
  CHECK(graph.variables[2].init_attrs.real("high") == doctest::Approx(1.0));  // sqrt(6 / 6)
  CHECK(graph.variables[3].init_attrs.real("value") == 0);
  CHECK(trained_paths(graph_of("[6]", "Dense: {name: d, units: 4, lora_rank: 3, trainable: false}"))
            .empty());
  CHECK(build_error("model:\n  input: [6]\n  layers: [Dense: {units: 4, lora_rank: 0}]\n") ==
        "c.yaml:3:41: layer 'dense' (Dense): lora_rank is 0; give 1 or more, or leave it out");
}

TEST_CASE("numbers for a table that LoRA adapts are rows of its layer") {
  const config::Config config = config_of(
      "model: {input: [5], layers: [Embedding: {name: t, input_dim: 9, output_dim: 3, "
      "lora_rank: 2}]}");
  const auto rows = table_rows(config, stated_signature(config.model));
  REQUIRE(rows.contains("input"));
  CHECK(rows.at("input").count == 9);
  CHECK(rows.at("input").path == "t");
}
