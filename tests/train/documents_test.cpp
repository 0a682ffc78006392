// Packed documents: in a window beside others a document gives the loss and the gradients that it
// gives alone.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "support/temp_directory.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::test;
using namespace meshwork::testing;

namespace {

const std::vector<std::string> kDocuments{"abcba|", "cd|", "e|", "dbeac|"};

std::string joined() {
  std::string text;
  for (const std::string& document : kDocuments) text += document;
  return text;
}

/// Layers between `x` and `logits`, with or without the documents beside it.
using Layers = std::string (*)(bool packed);

std::string absolute(bool packed) {
  return fmt::format(R"(
    - Embedding: {{name: tokens, input_dim: 256, output_dim: 8, inputs: x}}
    - {}
    - Add: {{name: h, inputs: [tokens, places]}}
    - MultiHeadAttention: {{name: mix, num_heads: 2, key_dim: 4, use_causal_mask: true, inputs: {{query: h, value: h{}}}}}
    - Add: {{name: g, inputs: [h, mix]}}
    - GroupQueryAttention: {{name: again, num_query_heads: 4, num_key_value_heads: 2, head_dim: 4, use_causal_mask: true, sliding_window: 3, inputs: {{query: g, value: g{}}}}}
    - Add: {{name: f, inputs: [g, again]}})",
                     packed ? "Embedding: {name: places, input_dim: 20, output_dim: 8, inputs: "
                              "positions}"
                            : "PositionEmbedding: {name: places, sequence_length: 20, inputs: "
                              "tokens}",
                     packed ? ", segments: segments" : "", packed ? ", segments: segments" : "");
}

std::string rotary(bool packed) {
  return fmt::format(R"(
    - Embedding: {{name: tokens, input_dim: 256, output_dim: 8, inputs: x}}
    - EinsumDense: {{name: query, equation: "abc,cde->abde", output_shape: [null, 2, 4], inputs: tokens}}
    - EinsumDense: {{name: key, equation: "abc,cde->abde", output_shape: [null, 2, 4], inputs: tokens}}
    - EinsumDense: {{name: value, equation: "abc,cde->abde", output_shape: [null, 2, 4], inputs: tokens}}
    - RotaryEmbedding: {{name: q, inputs: query}}
    - RotaryEmbedding: {{name: k, inputs: key}}
    - DotProductAttention: {{name: mix, is_causal: true, inputs: {{query: q, key: k, value: value{}}}}}
    - EinsumDense: {{name: back, equation: "abcd,cde->abe", output_shape: [null, 8], inputs: mix}}
    - Add: {{name: f, inputs: [tokens, back]}})",
                     packed ? ", segments: segments" : "");
}

std::string config_of(Layers layers, const TempDirectory& directory, const std::string& text,
                      bool packed) {
  const std::string file =
      directory.file(fmt::format("{}.txt", packed ? "all" : text.substr(0, 1)));
  write_text(file, text);
  const std::size_t context = text.size() - 1;
  const std::string input = fmt::format("{{shape: [{}], dtype: int32}}", context);
  const std::string made = layers(packed);
  std::string documents;
  for (const char* name : {"segments", "positions"}) {
    if (made.find(name) != made.npos) documents += fmt::format(", {}: {}", name, input);
  }
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: text, unit: byte, context: {}, splits: {{train: {}}}{}}}
model:
  inputs: {{x: {}{}}}
  layers:{}
    - Dense: {{name: logits, units: 256, inputs: f}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.5}}}}, loss: {{SparseCategoricalCrossentropy: {{from_logits: true, ignore_class: -1}}}}}}
fit: {{batch_size: 1}}
)",
                     context, file, packed ? ", documents: {separator: '|'}" : "", input, documents,
                     made);
}

/// Of all documents, each trained on alone: the mean over all their labels.
Trajectory alone(Layers layers, const TempDirectory& directory, const Trajectory& start) {
  Trajectory mean;
  mean.weights = start.weights;
  mean.losses = {0};
  double labels = 0;
  for (const std::string& document : kDocuments) labels += static_cast<double>(document.size()) - 1;
  for (const std::string& document : kDocuments) {
    const double share = (static_cast<double>(document.size()) - 1) / labels;
    const Trajectory one = train(config_of(layers, directory, document, false),
                                 {.steps = 1, .initial = start.weights});
    mean.losses[0] += share * one.losses[0];
    for (auto& [path, weights] : mean.weights) {
      const std::vector<float>& before = start.weights.at(path);
      const std::vector<float>& after = one.weights.at(path);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] += static_cast<float>(share) * (after[i] - before[i]);
      }
    }
  }
  return mean;
}

}  // namespace

TEST_CASE("packed documents give what each gives alone, on every mesh") {
  for (const Layers layers : {absolute, rotary}) {
    const TempDirectory directory;
    // The last label is that of a document that the window cuts.
    const std::string text = config_of(layers, directory, joined() + "a", true);
    const Trajectory start = train(text, {.steps = 0});
    const Trajectory each = alone(layers, directory, start);
    for (const char* mesh : {"1x1", "1x2", "1x3", "1x4"}) {
      CAPTURE(mesh);
      const std::string laid_out =
          text + "layout_map: {tokens/output: [data, model, null], mix/output: [data, model, " +
          (layers == rotary ? "null, null]}\n" : "null]}\n");
      for (const std::string& one : {text, laid_out}) {
        const Trajectory packed = train(one, {.mesh = mesh, .steps = 1});
        CHECK(loss_difference(packed, each) < 1e-6);
        CHECK(weight_difference(packed, each) < 3e-6);
      }
    }
  }
}

TEST_CASE("without segments documents see each other") {
  const TempDirectory directory;
  const Layers open = [](bool) { return rotary(false); };
  const std::string text = config_of(open, directory, joined() + "a", true);
  const Trajectory start = train(text, {.steps = 0});
  const Trajectory each = alone(rotary, directory, start);
  CHECK(loss_difference(train(text, {.steps = 1}), each) > 1e-4);
}
