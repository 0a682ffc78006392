// Arguments of the layers that know positions, and of ReversibleEmbedding; their numbers:
// keras_calls_test.cpp
#include <doctest/doctest.h>

#include <algorithm>

#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

Graph graph_of(const std::string& input, const std::string& layers, const std::string& more = "") {
  return build(more + "model: {input: " + input + ", layers: [" + layers + "]}");
}

std::string error_of(const std::string& input, const std::string& layers) {
  return build_error("model:\n  input: " + input + "\n  layers: [" + layers + "]\n");
}

TensorType prediction_type(const Graph& graph) {
  return graph.type(output_value(graph, "prediction"));
}

}  // namespace

TEST_CASE("layers of positions have keras-hub's variables") {
  const Graph positions = graph_of("[5, 3]", "PositionEmbedding: {name: p, sequence_length: 8}");
  CHECK(variable_paths(positions) == std::vector<std::string>{"p/embeddings"});
  CHECK(positions.type(positions.variables[0].value).shape == Shape{8, 3});
  const std::string both = "TokenAndPositionEmbedding: {name: t, vocabulary_size: 9, ";
  const Graph tokens = graph_of("[5]", both + "sequence_length: 5, embedding_dim: 3}");
  CHECK(variable_paths(tokens) == std::vector<std::string>{"t/token_embedding/embeddings",
                                                           "t/position_embedding/embeddings"});
  CHECK(prediction_type(tokens).shape == Shape{4, 5, 3});
  CHECK(graph_of("[5, 4]", "RotaryEmbedding").variables.empty());
  CHECK(graph_of("[5, 4]", "SinePositionEncoding").variables.empty());
}

TEST_CASE("layers that turn alike share what they turn by") {
  const auto tables = [](const std::string& layers) {
    const Graph graph = graph_of("[5, 4]", layers);
    return std::ranges::count_if(graph.nodes,
                                 [](const Node& node) { return node.op == &ops::kCosine; });
  };
  CHECK(tables("RotaryEmbedding, Dense: {units: 4}, RotaryEmbedding") == 1);
  CHECK(tables("RotaryEmbedding, RotaryEmbedding: {max_wavelength: 100}") == 2);
  CHECK(tables("RotaryEmbedding, Dense: {units: 6}, RotaryEmbedding") == 2);
}

TEST_CASE("what the layers of positions cannot take says why") {
  CHECK(error_of("[5, 3]", "PositionEmbedding: {sequence_length: 4}") ==
        "c.yaml:3:31: layer 'position_embedding' (PositionEmbedding): sequence_length is 4, but "
        "samples have 5 steps; give 5 or more");
  CHECK(error_of("[5]", "SinePositionEncoding") ==
        "c.yaml:3:12: layer 'sine_position_encoding' (SinePositionEncoding) needs samples [steps, "
        "features], not [5]");
  CHECK(error_of("[5, 3]", "RotaryEmbedding") ==
        "c.yaml:3:12: layer 'rotary_embedding' (RotaryEmbedding) turns pairs of features, but "
        "samples [5, 3] have 3; give an even number");
  CHECK(error_of("[4, 6]", "RotaryEmbedding: {sequence_axis: 2}") ==
        "c.yaml:3:29: layer 'rotary_embedding' (RotaryEmbedding): sequence_axis is 2 and "
        "feature_axis 2 of samples [4, 6]; give two others than the batch");
  CHECK(error_of("[4, 6]", "RotaryEmbedding: {rope_type: yarns}") ==
        "c.yaml:3:41: layer 'rotary_embedding' (RotaryEmbedding): rope_type 'yarns' is unknown; "
        "nearest: 'yarn'");
  const std::string llama = "LlamaRotaryEmbedding: {frequency_adjustment_factor: 8";
  CHECK(error_of("[4, 6]", llama + "}") ==
        "c.yaml:3:34: layer 'llama_rotary_embedding' (LlamaRotaryEmbedding): "
        "frequency_adjustment_factor, low_freq_factor, high_freq_factor and "
        "pretraining_sequence_length go together; give all of them or none");
  CHECK(error_of("[4, 6]", llama + ", low_freq_factor: 4, high_freq_factor: 4, "
                                   "pretraining_sequence_length: 8192}") ==
        "c.yaml:3:34: layer 'llama_rotary_embedding' (LlamaRotaryEmbedding): low_freq_factor is 4, "
        "high_freq_factor 4, position_scaling_factor 1; give a higher high_freq_factor, and no "
        "position_scaling_factor");
}

TEST_CASE("a table gives features for tokens, and logits for features") {
  const std::string layers =
      "ReversibleEmbedding: {name: e, input_dim: 9, output_dim: 3}, Dense: {name: d, units: 3}, "
      "use: {layer: e, reverse: true}";
  const Graph tied = graph_of("[5]", layers);
  CHECK(variable_paths(tied) == std::vector<std::string>{"e/embeddings", "d/kernel", "d/bias"});
  CHECK(prediction_type(tied).shape == Shape{4, 5, 9});
}

TEST_CASE("logits of a table are float32 whatever its layer computes in, or of reverse_dtype") {
  const auto dtypes = [](const std::string& more) {
    const Graph graph = graph_of("[5]",
                                 "ReversibleEmbedding: {name: e, input_dim: 9, output_dim: 3" +
                                     more + "}, use: {name: logits, layer: e, reverse: true}",
                                 "precision: mixed_bfloat16\n");
    std::vector<DType> found;
    for (const NamedValue& output : graph.layer_outputs) {
      if (output.name == "e/output" || output.name == "logits/output") {
        found.push_back(graph.type(output.value).dtype);
      }
    }
    return found;
  };
  const DType narrow = DType::kBFloat16, wide = DType::kFloat32;
  CHECK(dtypes("") == std::vector{narrow, wide});
  CHECK(dtypes(", reverse_dtype: float32") == std::vector{narrow, wide});
  CHECK(dtypes(", reverse_dtype: bfloat16") == std::vector{narrow, narrow});
}

TEST_CASE("one more use of a layer says what it is called with, and nothing else") {
  const std::string first = "ReversibleEmbedding: {name: e, input_dim: 9, output_dim: 3}, ";
  CHECK(error_of("[5]", first + "use: {layer: e, tie_weights: false}") ==
        "c.yaml:3:89: use: 'tie_weights' is no argument of a call of layer 'e' "
        "(ReversibleEmbedding); known: 'reverse'; its others stand where it is first");
  CHECK(error_of("[5]", first + "Dense: {units: 4}, use: {layer: e, reverse: true}") ==
        "c.yaml:3:33: layer 'e' (ReversibleEmbedding): reverse: samples are [5, 4], but their last "
        "dimension has to be 3");
  CHECK(error_of("[5]", "ReLU: {name: a}, use: {layer: a, trainable: false}")
            .starts_with("c.yaml:3:45: use: 'trainable' is no argument of a call of layer 'a'"));
}
