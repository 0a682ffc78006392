// config.json of what Keras loads as a whole model.
#include <doctest/doctest.h>

#include <string>

#include "interchange/written_model.h"
#include "state/keras_names.h"

using namespace meshwork;
using namespace meshwork::written;

namespace {

const std::string kOneOutput = R"(
model:
  input: [6]
  layers:
    - Dense: {name: d, units: 4, activation: relu}
    - Dense: {name: e, units: 2}
)";

const std::string kTwoOutputs = R"(
precision: mixed_bfloat16
blocks:
  unit:
    params: {n: 4}
    layers:
      - Dense: {name: d, units: $n, bias_initializer: {Constant: {value: 0.5}}}
      - BatchNormalization: {name: n, gamma_initializer: ones, axis: -1}
model:
  inputs: {left: [6], right: [4, 3]}
  layers:
    - unit: {name: a, inputs: left, n: 5}
    - Dense: {name: shared, units: 5}
    - use: {layer: shared, name: again}
    - Flatten: {name: f, inputs: right}
    - Dense: {name: r, units: 4, activation: {leaky_relu: {negative_slope: 0.3}}, dtype: float32}
    - Concatenate: {name: c, inputs: [again, r]}
    - Dense: {name: digit, units: 4, trainable: false}
    - Dense: {name: size, units: 2, inputs: c, use_bias: false}
  outputs: [digit, size]
compile:
  optimizer: {RMSprop: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.01, decay_steps: 10, decay_rate: 0.9}}}}
  loss: {digit: {SparseCategoricalCrossentropy: {from_logits: true}}, size: mse}
  loss_weights: {size: 0.5}
  metrics: {digit: [accuracy, {SparseTopKCategoricalAccuracy: {k: 2}}]}
)";

}  // namespace

TEST_CASE("a model is written as Keras's Functional, with the words of the file") {
  const Json model = config_of(kOneOutput);
  CHECK(model.at("class_name") == "Functional");
  CHECK_FALSE(model.contains("compile_config"));
  const Json& config = model.at("config");
  CHECK(config.at("layers").size() == 3);
  CHECK(config.at("input_layers") == Json({"input", 0, 0}));
  CHECK(config.at("output_layers") == Json({"e", 0, 0}));
  CHECK(layer(model, "input").at("config").at("batch_shape") == Json({nullptr, 6}));
  CHECK(layer(model, "d").at("config") ==
        Json({{"name", "d"}, {"units", 4}, {"activation", "relu"}}));
  CHECK(taken(layer(model, "e"), 0, 0) == Json({"d", 0, 0}));
}

TEST_CASE("null stays where Keras knows None, and is left out where the default stands") {
  const Json model = config_of(R"(
model:
  input: [6, 4]
  layers:
    - Conv1D: {name: c, filters: 4, kernel_size: 3, strides: null, bias_initializer: null}
    - TransformerEncoder: {name: t, intermediate_dim: 4, num_heads: 2, activation: null}
)");
  const Json& convolution = layer(model, "c").at("config");
  CHECK_FALSE(convolution.contains("strides"));
  CHECK(convolution.at("bias_initializer").is_null());
  CHECK(layer(model, "t").at("config").at("activation").is_null());
}

TEST_CASE("blocks, shared layers, several inputs and outputs, and what is compiled") {
  const Json model = config_of(kTwoOutputs);
  const Json& config = model.at("config");
  CHECK(config.at("input_layers") == Json({{"left", 0, 0}, {"right", 0, 0}}));
  CHECK(config.at("output_layers") == Json({{"digit", 0, 0}, {"size", 0, 0}}));
  const Json& dense = layer(model, "a_d").at("config");
  CHECK(dense.at("units") == 5);
  CHECK(dense.at("dtype").at("config").at("name") == "mixed_bfloat16");
  const Json& constant = dense.at("bias_initializer");
  CHECK(constant.at("class_name") == "Constant");
  CHECK(constant.at("config") == Json({{"value", 0.5}}));
  CHECK(layer(model, "a_n").at("config").at("gamma_initializer").at("class_name") == "Ones");
  CHECK(layer(model, "a_n").at("config").at("axis") == -1);
  // A layer that is used twice stands there once, with both uses.
  CHECK(taken(layer(model, "shared"), 0, 0) == Json({"a_n", 0, 0}));
  CHECK(taken(layer(model, "shared"), 1, 0) == Json({"shared", 0, 0}));
  CHECK(taken(layer(model, "c"), 0, 0) == Json({"shared", 1, 0}));
  CHECK(taken(layer(model, "c"), 0, 1) == Json({"r", 0, 0}));
  const Json& activation = layer(model, "r").at("config").at("activation");
  CHECK(activation.at("class_name") == "LeakyReLU");
  CHECK(activation.at("config") == Json({{"negative_slope", 0.3}}));
  CHECK(layer(model, "r").at("config").at("dtype") == "float32");
  CHECK(layer(model, "digit").at("config").at("trainable") == false);
  CHECK(layer(model, "size").at("config").at("use_bias") == false);

  const Json& compile = model.at("compile_config");
  CHECK(compile.at("optimizer").at("class_name") == "RMSprop");
  const Json& rate = compile.at("optimizer").at("config").at("learning_rate");
  CHECK(rate.at("class_name") == "ExponentialDecay");
  CHECK(rate.at("config").at("decay_steps") == 10);
  CHECK(compile.at("loss").at("digit").at("config") == Json({{"from_logits", true}}));
  CHECK(compile.at("loss").at("size") == "mse");
  CHECK(compile.at("loss_weights") == Json({{"digit", 1.0}, {"size", 0.5}}));
  CHECK(compile.at("metrics").at("digit").at(0) == "accuracy");
  CHECK(compile.at("metrics").at("digit").at(1).at("config") == Json({{"k", 2}}));
}

TEST_CASE("a Rescaling says its offset, without which Keras reads none") {
  const Json model = config_of(R"(
model:
  input: [6, 4]
  layers:
    - Rescaling: {name: a, scale: 2}
    - Rescaling: {name: b, scale: 2, offset: null}
    - Rescaling: {name: c, scale: 2, offset: 1}
    - TimeDistributed: {name: d, layer: {Rescaling: {scale: 3}}}
)");
  CHECK(layer(model, "a").at("config").at("offset") == 0.0);
  CHECK(layer(model, "b").at("config").at("offset") == 0.0);
  CHECK(layer(model, "c").at("config").at("offset") == 1);
  CHECK(layer(model, "d").at("config").at("layer").at("config").at("offset") == 0.0);
}

TEST_CASE("operations are Keras's own, with what they are called with") {
  const Json model = config_of(R"(
precision: mixed_bfloat16
model:
  input: [6, 4]
  layers:
    - Dense: {name: d, units: 4}
    - GetItem: {name: g, key: ":, 1:-1, ..., None, ::2"}
    - Abs: {name: a, trainable: false}
    - Sum: {name: s, axis: [1, 3], keepdims: true}
    - Power: {name: p, x2: 2}
    - Clip: {name: c, x_min: 0.5}
    - Divide: {name: q, inputs: [p, c]}
)");
  const Json all = {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}};
  const auto slice = [](const Json& of) {
    return Json{{"class_name", "__slice__"}, {"config", of}};
  };
  const Json key = layer(model, "g").at("inbound_nodes").at(0).at("kwargs").at("key");
  CHECK(key == Json::array({slice(all),
                            slice({{"start", 1}, {"stop", -1}, {"step", nullptr}}),
                            {{"class_name", "__ellipsis__"}, {"config", Json::object()}},
                            nullptr,
                            slice({{"start", nullptr}, {"stop", nullptr}, {"step", 2}})}));
  CHECK(layer(model, "a").at("module") == "keras.src.ops.numpy");
  CHECK(layer(model, "a").at("class_name") == "Absolute");
  CHECK(layer(model, "a").at("config") == Json({{"name", "a"}}));
  CHECK(layer(model, "s").at("config") ==
        Json({{"name", "s"}, {"axis", {1, 3}}, {"keepdims", true}}));
  CHECK(layer(model, "p").at("inbound_nodes").at(0).at("kwargs") == Json({{"x2", 2}}));
  CHECK(layer(model, "c").at("config") ==
        Json({{"name", "c"}, {"x_min", 0.5}, {"x_max", nullptr}}));
  CHECK(taken(layer(model, "q"), 0, 0).at(0) == "p");
  const Json& second = layer(model, "q").at("inbound_nodes").at(0).at("kwargs").at("x2");
  CHECK(second.at("config").at("keras_history").at(0) == "c");
}

TEST_CASE("trainable: false is said to the layers in a wrapper, too") {
  const Json model = config_of(R"(
model:
  input: [6, 4]
  freeze: [c]
  layers:
    - Bidirectional:
        name: a
        trainable: false
        layer: {LSTM: {units: 2, return_sequences: true}}
        backward_layer: {GRU: {units: 2, return_sequences: true, go_backwards: true}}
    - Bidirectional: {name: b, layer: {LSTM: {units: 2, return_sequences: true}}}
    - TimeDistributed: {name: c, layer: {Dense: {units: 2}}}
    - TimeDistributed: {name: d, layer: {Dense: {units: 2, trainable: false}}}
)");
  const auto inner = [&](const char* name, const char* key) {
    return layer(model, name).at("config").at(key).at("config").value("trainable", true);
  };
  CHECK_FALSE(inner("a", "layer"));
  CHECK_FALSE(inner("a", "backward_layer"));
  CHECK(inner("b", "layer"));
  CHECK_FALSE(inner("c", "layer"));
  CHECK_FALSE(inner("d", "layer"));
}

TEST_CASE("what Keras has no words for is an error that names it") {
  const auto with = [](const std::string& layers) {
    return "model:\n  input: [6]\n  layers:\n" + layers;
  };
  CHECK(error_of(with("    - Dense: {units: 4, activation: {celu: {alpha: 0.5}}}\n")) ==
        "2: c.yaml:4:38: a .keras file has no words for 'celu' with arguments; export a "
        ".weights.h5, which holds the weights alone");
  CHECK(error_of(with("    - AddLoss\n    - Dense: {units: 4, inputs: input}\n")) ==
        "2: c.yaml:4:7: a .keras file has no layer 'AddLoss'; export a .weights.h5, which holds "
        "the weights alone");
  CHECK(error_of("model:\n  input: [6]\n  freeze: [d/bias]\n  layers:\n"
                 "    - Dense: {name: d, units: 4}\n") ==
        "2: c.yaml: 'freeze' matches the variable d/bias alone, and a .keras file can only freeze "
        "layers; export a .weights.h5, which holds the weights alone");
  for (const std::string layer :
       {"MultiHeadAttention: {name: a, num_heads: 2, key_dim: 2, inputs: [input, input]",
        "GroupQueryAttention: {name: a, num_query_heads: 2, num_key_value_heads: 1, head_dim: 2, "
        "inputs: [input, input]",
        "TransformerEncoder: {name: a, num_heads: 2, intermediate_dim: 4",
        "TransformerDecoder: {name: a, num_heads: 2, intermediate_dim: 4",
        "TokenAndPositionEmbedding: {name: a, vocabulary_size: 9, sequence_length: 6, "
        "embedding_dim: 4",
        "TimeDistributed: {name: a, layer: {TransformerEncoder: {num_heads: 2, intermediate_dim: "
        "4}}"}) {
    const bool is_table = layer.starts_with("Token");
    const std::string shape = is_table ? "[6]" : layer.starts_with("Time") ? "[2, 6, 4]" : "[6, 4]";
    const std::string text = "model:\n  input: " + shape + "\n  layers:\n    - " + layer;
    CHECK(error_of(text + "}\n") == "");
    CHECK(error_of(text + ", trainable: false}\n")
              .find("' is not trained, and a .keras file has no word for that: Keras would train "
                    "the layers in it; export a .weights.h5") != std::string::npos);
  }
  CHECK(error_of("blocks:\n  b: {layers: [{Dense: {name: d, units: 4}}]}\n" +
                 with("    - Dense: {name: b_d, units: 4}\n    - b: {name: b}\n")) ==
        "2: c.yaml:2:17: two layers would have the name 'b_d' in a .keras file; rename one, or "
        "export a .weights.h5, which holds the weights alone");
}

TEST_CASE("losses as metrics are Keras's classes of metrics; what it has no word for is an error") {
  const auto compiled = [](const std::string& compile) {
    return config_of(kOneOutput + "compile: {optimizer: sgd, " + compile + "}\n")
        .at("compile_config");
  };
  const Json metrics =
      compiled(
          "loss: mse, metrics: [mse, {MeanSquaredError: {name: m2}}, {MeanAbsoluteError: {}}, kld, "
          "{BinaryCrossentropy: {from_logits: true, name: b}}, log_cosh, logcosh]")
          .at("metrics");
  const auto check = [&](std::size_t i, const std::string& class_name, const Json& arguments) {
    CHECK(metrics.at(i).at("module") == "keras.metrics");
    CHECK(metrics.at(i).at("class_name") == class_name);
    CHECK(metrics.at(i).at("config") == arguments);
  };
  CHECK(metrics.at(0) == "mse");
  check(1, "MeanSquaredError", Json{{"name", "m2"}});
  check(2, "MeanAbsoluteError", Json{{"name", "mean_absolute_error"}});
  check(3, "KLDivergence", Json{{"name", "kld"}});
  check(4, "BinaryCrossentropy", Json({{"from_logits", true}, {"name", "b"}}));
  check(5, "LogCoshError", Json{{"name", "log_cosh"}});
  check(6, "LogCoshError", Json{{"name", "logcosh"}});

  const auto refused = [&](const std::string& metric) {
    const std::string error =
        test::error_of([&] { compiled("loss: mse, metrics: [" + metric + "]"); });
    CHECK(error.ends_with("; export a .weights.h5, which holds the weights alone"));
    return error.substr(0, error.find(';'));
  };
  const std::string place = "2: c.yaml:7:";
  CHECK(refused("huber") == place + "48: a .keras file has no word for 'huber' as a metric");
  CHECK(refused("ce") == place + "48: a .keras file has no word for 'ce' as a metric");
  CHECK(refused("Tversky: {alpha: 0.4}") ==
        place + "48: a .keras file has no word for 'Tversky' as a metric");
  CHECK(refused("{BinaryCrossentropy: {axis: -1}}") ==
        place + "70: a .keras file has no word for 'axis' of the metric 'BinaryCrossentropy'");

  CHECK(compiled("loss: huber").at("loss") == "huber");
  CHECK(compiled("loss: crossentropy").at("loss") == "crossentropy");
  for (const auto& [word, class_name] :
       {std::pair{"logcosh", "LogCosh"},
        {"kullback_leibler_divergence", "KLDivergence"},
        {"CategoricalGeneralizedCrossEntropy", "CategoricalGeneralizedCrossEntropy"}}) {
    const Json loss = compiled(std::string("loss: ") + word).at("loss");
    CHECK(loss.at("module") == "keras.losses");
    CHECK(loss.at("class_name") == class_name);
  }
}

TEST_CASE("a constant has its value, which Keras does not read without") {
  const Json model = config_of(
      "model: {input: [6], layers: [Dense: {name: d, units: 4, bias_initializer: constant}]}");
  const Json& constant = layer(model, "d").at("config").at("bias_initializer");
  CHECK(constant.at("class_name") == "Constant");
  CHECK(constant.at("config") == Json{{"value", 0.0}});
}

TEST_CASE("layers and metrics of keras-hub, and what one use of a layer is called with") {
  const Json model = config_of(R"(
model:
  input: {shape: [5], dtype: int32}
  layers:
    - ReversibleEmbedding: {name: e, input_dim: 7, output_dim: 4}
    - PositionEmbedding: {name: p, sequence_length: 5, initializer: zeros}
    - use: {layer: e, name: logits, reverse: true}
compile: {loss: {SparseCategoricalCrossentropy: {from_logits: true}}, optimizer: adam, metrics: [perplexity]}
)");
  const Json& table = layer(model, "e");
  CHECK(table.at("module") == "keras.layers");
  CHECK(table.at("registered_name").is_null());
  CHECK(table.at("inbound_nodes").size() == 2);
  CHECK(table.at("inbound_nodes").at(0).at("kwargs").empty());
  CHECK(table.at("inbound_nodes").at(1).at("kwargs") == Json{{"reverse", true}});
  CHECK_FALSE(table.at("config").contains("reverse"));
  const Json& positions = layer(model, "p");
  CHECK(positions.at("module") == "keras_hub.layers");
  CHECK(positions.at("registered_name") == "keras_hub>PositionEmbedding");
  CHECK(positions.at("config").at("initializer").at("class_name") == "Zeros");
  const Json& metric = model.at("compile_config").at("metrics").at(0);
  CHECK(metric.at("registered_name") == "keras_hub>Perplexity");
}

TEST_CASE("what Keras's own files leave out of an optimizer is left out") {
  const Json model = config_of(kOneOutput +
                               "compile: {loss: mse, optimizer: {AdamW: {weight_decay: 0.5, "
                               "exclude_from_weight_decay: [bias]}}}\n");
  const Json& arguments = model.at("compile_config").at("optimizer").at("config");
  CHECK(arguments.at("weight_decay") == 0.5);
  CHECK_FALSE(arguments.contains("exclude_from_weight_decay"));
}

TEST_CASE("what scales losses stands around the optimizer") {
  const Json model = config_of("precision: mixed_float16\n" + kOneOutput +
                               "compile: {loss: mse, optimizer: {SGD: {momentum: 0.5}}}\n");
  const Json& dtype = layer(model, "d").at("config").at("dtype");
  CHECK(dtype.at("config").at("name") == "mixed_float16");
  const Json& optimizer = model.at("compile_config").at("optimizer");
  CHECK(optimizer.at("class_name") == "LossScaleOptimizer");
  const Json& inner = optimizer.at("config").at("inner_optimizer");
  CHECK(inner.at("class_name") == "SGD");
  CHECK(inner.at("config") == Json({{"momentum", 0.5}}));
}

TEST_CASE("a file of Keras has no place for the factors of LoRA") {
  const config::Config config = config::parse_config(
      "model: {input: [6], layers: [Dense: {name: d, units: 4, lora_rank: 2}]}", "c.yaml", {});
  const std::string error =
      test::error_of([&] { keras_model(config, predicting_program(config)); });
  CHECK(error ==
        "2: c.yaml: Keras's files hold no 'd/lora_kernel_a', only kernels that LoRA has changed; "
        "take a file .npz or .safetensors");
}

TEST_CASE("parts of a layer have groups of their own in Keras's files") {
  const config::Config config = config::parse_config(
      "model: {input: [5], layers: [TokenAndPositionEmbedding: {name: t, vocabulary_size: 7, "
      "sequence_length: 5, embedding_dim: 4}]}",
      "c.yaml", {});
  const KerasModel model = keras_model(config, predicting_program(config));
  const std::string group = "layers/token_and_position_embedding";
  const Places places = keras_places(model);
  CHECK(places.at("t/token_embedding/embeddings") == group + "/token_embedding/vars/0");
  CHECK(places.at("t/position_embedding/embeddings") == group + "/position_embedding/vars/0");
  CHECK(keras_group_names(model).at(group + "/token_embedding") == "token_embedding");
}
