#include "config/names.h"

#include <doctest/doctest.h>

#include "model/build.h"
#include "model/layers/layer.h"

using namespace meshwork;

TEST_CASE("classes become names as in Keras") {
  CHECK(snake_case("Dense") == "dense");
  CHECK(snake_case("Conv2D") == "conv2d");
  CHECK(snake_case("MaxPooling2D") == "max_pooling2d");
  CHECK(snake_case("MultiHeadAttention") == "multi_head_attention");
  CHECK(snake_case("LSTMCell") == "lstm_cell");
  CHECK(snake_case("RMSprop") == "rm_sprop");
  CHECK(snake_case("AdamW") == "adam_w");
  CHECK(snake_case("SGD") == "sgd");
  CHECK(snake_case("PReLU") == "p_re_lu");
  CHECK(snake_case("ReLU") == "re_lu");
  CHECK(snake_case("MyGPTModel") == "my_gpt_model");
  CHECK(snake_case("A1B2c") == "a1b2c");
}

TEST_CASE("explicit names do not advance the counters") {
  const Graph graph = build(R"(
model:
  input: [3]
  layers: [Dense: {units: 2}, Dense: {units: 2, name: d}, Dense: {units: 2}, ReLU, Dense: {units: 1}]
)");
  CHECK(variable_paths(graph) == std::vector<std::string>{"dense/kernel", "dense/bias", "d/kernel",
                                                          "d/bias", "dense_1/kernel",
                                                          "dense_1/bias", "dense_2/kernel",
                                                          "dense_2/bias"});
  CHECK(graph.layer_outputs[4].name == "re_lu/output");
}

TEST_CASE("an automatic name that is taken is an error with both places") {
  CHECK(build_error(R"(
model:
  input: [3]
  layers: 
    - Dense: {units: 2, name: dense}
    - Dense: {units: 2}
)") == "c.yaml:6:7: the name 'dense' is taken by what stands at c.yaml:5:7; give one of them "
       "another 'name'");
}

TEST_CASE("another spelling of a class gives the same names") {
  CHECK(without_alias("MaxPool2D") == "MaxPooling2D");
  CHECK(without_alias("MaxPooling2D") == "MaxPooling2D");
  CHECK(without_alias("MyConvolution") == "MyConvolution");
  for (const LayerDef* def : layer_registry()) {
    for (const std::string_view name : def->names) {
      CHECK(without_alias(name) == def->names.front());
    }
  }
  const Graph graph = build(R"(
model:
  input: [8, 8, 1]
  layers: [Conv2D: {filters: 2, kernel_size: 3}, Convolution2D: {filters: 2, kernel_size: 3}, Flatten]
)");
  CHECK(variable_paths(graph) == std::vector<std::string>{"conv2d/kernel", "conv2d/bias",
                                                          "conv2d_1/kernel", "conv2d_1/bias"});
}
