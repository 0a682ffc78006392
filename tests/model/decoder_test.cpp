// The program that says what comes next: its inputs, its caches, and the models that have none.
#include "model/decoder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "model/build.h"
#include "support/errors.h"

using namespace meshwork;

namespace {

constexpr const char* kBegin = "model:\n  input: {shape: [6], dtype: int32}\n  layers:\n";
constexpr const char* kTokens = "    - Embedding: {name: t, input_dim: 9, output_dim: 4}\n";
constexpr const char* kLogits = "    - Dense: {name: logits, units: 9}\n";

/// Tokens, then the layers, then logits.
std::string model_of(const std::string& layers) { return kBegin + (kTokens + layers) + kLogits; }

std::string error_of(const std::string& text) {
  return test::error_of([&] { check_decodes(config_of(text)); });
}

const std::string kAttention =
    "    - MultiHeadAttention: {name: a, num_heads: 2, key_dim: 2, use_causal_mask: true, inputs: "
    "[t, t]}\n";

}  // namespace

TEST_CASE("a decoder reads parts, and keeps keys and values of all places") {
  const config::Config config = config_of(model_of(kAttention));
  const Graph graph = build_decoder(config, part_signature(config, 3), 2);
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{"t/embeddings", "a/query/kernel", "a/query/bias", "a/key/kernel",
                                 "a/key/bias", "a/value/kernel", "a/value/bias",
                                 "a/attention_output/kernel", "a/attention_output/bias",
                                 "logits/kernel", "logits/bias", "a/key_cache", "a/value_cache"});
  for (const Variable& variable : graph.variables) {
    CHECK(variable.is_cache == variable.path.ends_with("_cache"));
    if (variable.is_cache) CHECK(graph.type(variable.value).shape == Shape{2, 6, 2, 2});
  }
  CHECK(graph.updates.size() == 2);
  CHECK(graph.type(output_value(graph, "scores")) == TensorType{DType::kFloat32, {2, 9}});
}

TEST_CASE("a decoder keeps weights as bfloat16 that are read as nothing else") {
  const config::Config config =
      config_of("precision: mixed_bfloat16\n" + model_of(kAttention + "    - RMSNormalization:\n"));
  const Graph graph = build_decoder(config, part_signature(config, 3), 2);
  verify(graph);
  for (const Variable& variable : graph.variables) {
    CAPTURE(variable.path);
    const bool is_read_wide =
        std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
          return node.type.dtype == DType::kFloat32 && !node.inputs.empty() &&
                 node.inputs[0] == variable.value;
        });
    CHECK(graph.type(variable.value).dtype == DType::kBFloat16);
    CHECK((!is_read_wide || variable.path == "rms_normalization/scale"));
  }
}

TEST_CASE("what generating has to know of a model") {
  const DecoderFacts facts = check_decodes(config_of(model_of(kAttention)));
  CHECK(facts.context == 6);
  CHECK(facts.numbers == 9);
  CHECK(!facts.are_probabilities);
}

TEST_CASE("scores are probabilities by what gives them, whatever the loss is called") {
  const auto are_probabilities = [](const std::string& last, const std::string& loss) {
    std::string text = model_of(kAttention) + last;
    if (!loss.empty()) text += "compile: {optimizer: sgd, loss: " + loss + "}\n";
    return check_decodes(config_of(text)).are_probabilities;
  };
  const std::string given = "{SparseCategoricalCrossentropy: {from_logits: false}}";
  const std::string logits = "{SparseCategoricalCrossentropy: {from_logits: true}}";
  for (const std::string& loss : {std::string(), std::string("crossentropy"),
                                  std::string("sparse_categorical_crossentropy"), given, logits}) {
    CAPTURE(loss);
    CHECK(are_probabilities("    - Softmax:\n", loss));
    CHECK(are_probabilities("    - Activation: {activation: sparsemax, dtype: mixed_bfloat16}\n",
                            loss));
    CHECK(are_probabilities("    - Dense: {units: 3, activation: sigmoid}\n", loss));
  }
  const std::string mean =
      "    - Softmax: {name: p1, inputs: logits}\n    - Activation: {activation: sparsemax, name: "
      "p2, inputs: logits}\n    - Average: {inputs: [p1, p2]}\n";
  CHECK(are_probabilities(mean, "crossentropy"));
  CHECK(are_probabilities(mean, given));
  CHECK(!are_probabilities(mean, logits));
  CHECK(!are_probabilities("    - Activation: {activation: log_softmax}\n", ""));
  CHECK(!are_probabilities("", ""));
  CHECK(!are_probabilities("", logits));
}

TEST_CASE("models that cannot go on a token at a time say why, and where") {
  CHECK(error_of("model: {input: [6, 4], layers: [Dense: {units: 3}]}") ==
        "2: c.yaml:1:16: to generate, a model takes one input of numbers of tokens, such as "
        "{shape: [64], dtype: int32}, and perhaps segments and positions; this one takes [6, 4]");
  CHECK(error_of(kBegin + std::string(kTokens) + "    - GlobalAveragePooling1D:\n" + kLogits) ==
        "2: c.yaml:2:3: to generate, a model gives logits [6, vocabulary], a line for each token; "
        "'logits' gives [9]");
  const std::string sees_all =
      "    - MultiHeadAttention: {name: a, num_heads: 2, key_dim: 2, inputs: [t, t]}\n";
  CHECK(error_of(model_of(sees_all))
            .starts_with("2: c.yaml:5:27: layer 'a' (MultiHeadAttention): to generate, tokens may "
                         "not see those behind "
                         "them; train with use_causal_mask: true (generate gives the model some of "
                         "the 6 tokens at a "
                         "time)"));
  CHECK(error_of(model_of("    - Conv1D: {name: c, filters: 4, kernel_size: 3, padding: causal}\n"))
            .starts_with("2: c.yaml:5:7: to generate, tokens meet in MultiHeadAttention"));
  CHECK(error_of(model_of("    - Attention: {name: a, use_causal_mask: true, inputs: [t, t]}\n"))
            .starts_with("2: c.yaml:5:7: to generate, tokens meet in MultiHeadAttention"));
  for (const char* layer :
       {"LayerNormalization: {name: n, axis: [1, 2]}", "Roll: {name: r, shift: 1, axis: 1}",
        "Roll: {name: r, shift: 6, axis: 1}", "GetItem: {name: g, key: \":, :6\"}",
        "GetItem: {name: g, key: \":, :3\"}", "Sum: {name: s, axis: 1, keepdims: true}"}) {
    CAPTURE(layer);
    CHECK(error_of(model_of(fmt::format("    - {}\n", layer))) != "");
  }
  CHECK(error_of(model_of("    - Square:\n    - GetItem: {key: \"..., 1:3\"}\n")).empty());
}

TEST_CASE("recurrent layers decode where they go forwards and give all steps") {
  const auto error = [](const std::string& layer) {
    const std::string message = error_of(model_of("    - " + layer + "\n"));
    return message.substr(0, message.find(" (generate gives"));
  };
  CHECK(error("GRU: {name: r, units: 4, return_sequences: true}").empty());
  CHECK(error("GRU: {name: r, units: 4, return_sequences: true, go_backwards: true}") ==
        "2: c.yaml:5:12: layer 'r' (GRU): to generate, tokens may not see those behind them, as "
        "go_backwards has");
  CHECK(error("GRU: {name: r, units: 4, return_sequences: true, return_state: true}")
            .find("states go from token to token within the layer; leave return_state out") !=
        std::string::npos);
  CHECK(error("Bidirectional: {name: r, layer: {GRU: {units: 4, return_sequences: true}}}") ==
        "2: c.yaml:5:22: layer 'r' (Bidirectional): to generate, tokens may not see those behind "
        "them; take the layer without the wrapper");
  CHECK(error("GRU: {name: r, units: 4}").find("gives logits [6, vocabulary]") !=
        std::string::npos);
  const config::Config config =
      config_of(model_of("    - LSTM: {name: r, units: 2, return_sequences: true}\n"));
  const Graph graph = build_decoder(config, part_signature(config, 3), 2);
  std::vector<std::string> caches;
  for (const Variable& variable : graph.variables) {
    if (variable.is_cache) caches.push_back(variable.path);
  }
  CHECK(caches == std::vector<std::string>{"r/state_cache", "r/state_cache_1"});
}
