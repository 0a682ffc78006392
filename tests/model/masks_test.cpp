// Masks from layer to layer, and where they end. What they do to numbers: keras_calls_test.cpp and
// tests/optim/keras_test.cpp
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "backend/backend.h"
#include "base/join.h"
#include "model/build.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

/// What the model says of its layers, whose samples are `input`.
std::string notes_of(const std::string& input, const std::string& layers) {
  const config::Config config = config_of("model:\n  input: " + input + "\n  layers: [" + layers +
                                          "]\ncompile: {loss: mse}\n");
  ModelFacts facts;
  build_model(config, stated_signature(config.model), Mode::kPredict, 2, &facts);
  return join(facts.notes, "; ");
}

std::string layers_error(const std::string& input, const std::string& layers) {
  return build_error("model:\n  input: " + input + "\n  layers: [" + layers + "]\n");
}

/// The outputs of a model for a batch.
std::vector<double> predict(const std::string& model, const HostTensor& input) {
  const Graph graph = build("model: " + model, Mode::kPredict, input.type.shape[0]);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.feed("input", input);
  run.run();
  return to_doubles(run.read("prediction"));
}

const std::string kEmbedding = "Embedding: {input_dim: 4, output_dim: 3, mask_zero: true}, ";
const std::string kMasking = "Masking: {mask_value: 2}, ";

}  // namespace

TEST_CASE("a layer that neither passes a mask on nor uses it up is a note") {
  CHECK(notes_of("[6]", kEmbedding + "LayerNormalization, Dense: {units: 2}, Dropout: {rate: 0.1}, "
                                     "GlobalAveragePooling1D, Dense: {units: 1}")
            .empty());
  CHECK(notes_of("[6]", kEmbedding + "Dense: {units: 2}, GlobalMaxPooling1D, Dense: {units: 1}") ==
        "c.yaml:3:90: the mask of the input of layer 'global_max_pooling1d' (GlobalMaxPooling1D) "
        "ends here, as in Keras; what comes after it counts padding like all else");
  CHECK(notes_of("[6, 3]", kMasking + "RMSNormalization, Flatten").starts_with("c.yaml:3:38: "));
  CHECK(notes_of("[6, 3]", "RMSNormalization, Flatten").empty());
}

TEST_CASE("a mean of nothing that counts is 0") {
  const std::string layers = "{input: [3, 2], layers: [" + kMasking + "GlobalAveragePooling1D]}";
  const std::vector<float> input{2, 2, 2, 2, 2, 2, 2, 2, 4, 2, 6, 3};
  CHECK(predict(layers, host_tensor({2, 3, 2}, input)) == std::vector<double>{0, 0, 5, 2.5});
}

TEST_CASE("a position is hidden where all its features are the value") {
  const std::string model = "{input: [3, 2], layers: [Masking: {mask_value: 2}]}";
  CHECK(predict(model, host_tensor({1, 3, 2}, std::vector<float>{2, 2, 2, 3, 4, 2})) ==
        std::vector<double>{0, 0, 2, 3, 4, 2});
}

TEST_CASE("layers that cannot take a mask, or make none, say so") {
  CHECK(layers_error("[6, 3]", kMasking + "Softmax") ==
        "c.yaml:3:38: layer 'softmax' (Softmax): its input has a mask of shape [4, 6], which Keras "
        "would hold against the last dimensions of the logits, [4, 6, 3]; take Activation: "
        "softmax, which passes the mask on");
  CHECK(layers_error("[]", "Masking") ==
        "c.yaml:3:12: layer 'masking' (Masking) needs samples of one dimension or more; put a "
        "Reshape before it");
}
