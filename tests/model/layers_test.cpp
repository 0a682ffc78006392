#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "model/build.h"
#include "ops/ops.h"
#include "support/errors.h"

using namespace meshwork;

namespace {

/// Shape of the output of layers in flow style, with samples of `input`.
Shape output_shape(const std::string& input, const std::string& layers) {
  const Graph graph = build("model: {input: " + input + ", layers: [" + layers + "]}");
  return graph.type(output_value(graph, "prediction")).shape;
}

std::string layers_error(const std::string& input, const std::string& layers) {
  return build_error("model:\n  input: " + input + "\n  layers: [" + layers + "]\n");
}

}  // namespace

TEST_CASE("Dense has Keras's variables, also on samples of several dimensions") {
  const Graph graph = build("model: {input: [7, 3], layers: [Dense: {units: 5, name: d}]}");
  REQUIRE(graph.variables.size() == 2);
  CHECK(graph.variables[0].path == "d/kernel");
  CHECK(graph.type(graph.variables[0].value).shape == Shape{3, 5});
  CHECK(graph.variables[0].trainable);
  CHECK(graph.variables[1].path == "d/bias");
  CHECK(graph.type(graph.variables[1].value).shape == Shape{5});
  CHECK(graph.variables[1].init == &ops::kConstant);
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 7, 5});
  CHECK(graph.layer_outputs[0].name == "input/output");
  CHECK(graph.layer_outputs[1].name == "d/output");
}

TEST_CASE("initial values are no part of the program") {
  const auto names = op_names(build("model: {input: [3], layers: [Dense: {units: 5}]}"));
  CHECK(std::find(names.begin(), names.end(), "random_uniform") == names.end());
  CHECK(std::find(names.begin(), names.end(), "constant") == names.end());
}

TEST_CASE("trainable and use_bias") {
  const Graph graph = build(
      "model: {input: [3], layers: [Dense: {units: 5, name: d, trainable: false, use_bias: false}, "
      "Dense: {units: 1}]}");
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{"d/kernel", "dense/kernel", "dense/bias"});
  CHECK_FALSE(graph.variables[0].trainable);
  CHECK(graph.variables[1].trainable);
}

TEST_CASE("null is refused where Keras takes None for something else than the default") {
  CHECK(layers_error("[6]", "Dense: {units: 2, use_bias: null}") ==
        "c.yaml:3:40: layer 'dense' (Dense): use_bias is null; write false, or leave it out for "
        "true");
  CHECK(layers_error("[6]", "Dense: {units: 2, activation: null}").empty());
  CHECK(layers_error("[5, 6]",
                     "MultiHeadAttention: {num_heads: 2, key_dim: 3, kernel_initializer: "
                     "null, inputs: [input, input]}")
            .ends_with("kernel_initializer is null, which Keras does not take here; leave it out"));
}

TEST_CASE("Flatten and Reshape") {
  CHECK(output_shape("[2, 3, 5]", "Flatten") == Shape{4, 30});
  CHECK(output_shape("[]", "Flatten") == Shape{4, 1});
  CHECK(output_shape("[2, 3, 5]", "Flatten: {data_format: channels_first}") == Shape{4, 30});
  CHECK(output_shape("[12]", "Reshape: {target_shape: [3, -1]}") == Shape{4, 3, 4});
  CHECK(output_shape("[12]", "Reshape: {target_shape: [2, 2, 3]}") == Shape{4, 2, 2, 3});
  CHECK(layers_error("[12]", "Reshape: {target_shape: [5, -1]}") ==
        "c.yaml:3:36: target_shape [5, -1] does not hold the 12 elements of a sample");
  CHECK(layers_error("[12]", "Reshape: {target_shape: [-1, -1]}") ==
        "c.yaml:3:36: target_shape [-1, -1] has more than one -1; keep one");
  CHECK(layers_error("[12]", "Reshape: {target_shape: [4294967296, 4294967296, 4294967296]}") ==
        "c.yaml:3:36: target_shape [4294967296, 4294967296, 4294967296] does not hold the 12 "
        "elements of a sample");
}

TEST_CASE("channels_first samples are flattened with the channels last") {
  const Graph graph =
      build("model: {input: [2, 3, 5], layers: [Flatten: {data_format: channels_first}]}");
  const Node& node = graph.node(graph.node(output_value(graph, "prediction")).inputs[0]);
  REQUIRE(node.op == &ops::kTranspose);
  CHECK(node.attrs.integers("perm") == std::vector<std::int64_t>{0, 2, 3, 1});
}

TEST_CASE("merging layers broadcast as in Keras") {
  const std::string two = "Dense: {name: a, units: 3}, Dense: {name: b, units: 1, inputs: input}, ";
  for (const char* layer : {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"}) {
    CHECK(output_shape("[5, 2]", two + layer + ": {inputs: [a, b]}") == Shape{4, 5, 3});
  }
  CHECK(output_shape("[2]", two + "Concatenate: {inputs: [a, b, input]}") == Shape{4, 6});
  CHECK(output_shape("[5, 2]", two + "Flatten: {name: f, inputs: b}, Reshape: {name: r, "
                                     "target_shape: [5], inputs: f}, Dense: {name: c, units: 3}, "
                                     "Add: {inputs: [a, c]}") == Shape{4, 5, 3});
}

TEST_CASE("merging layers that do not fit say so with the place") {
  const std::string two = "Dense: {name: a, units: 3}, Dense: {name: b, units: 2, inputs: input}, ";
  CHECK(layers_error("[2]", two + "Add: {inputs: [a, b]}") ==
        "c.yaml:3:88: layer 'add' (Add): cannot combine shapes [4, 3] and [4, 2]: dimension 1 is "
        "3 and 2");
  CHECK(layers_error("[2]", two + "Concatenate: {inputs: [a, b], axis: 0}") ==
        "c.yaml:3:119: layer 'concatenate' (Concatenate): axis 0 is the batch; give 1 to 1, or -1 "
        "for the last");
  CHECK(layers_error("[2]", two + "Subtract: {inputs: [a, b, a]}") ==
        "c.yaml:3:83: layer 'subtract' (Subtract) takes no more than 2 inputs, not 3; join them "
        "with Add or Concatenate");
  CHECK(layers_error("[2]", "Add") ==
        "c.yaml:3:12: layer 'add' (Add) takes 2 inputs or more, not 1; name them: inputs: [a, b]");
}

TEST_CASE("Dropout draws in training only, from the layer's own stream") {
  const std::string text = "seed: 7\nmodel: {input: [6], layers: [Dropout: {rate: 0.25}]}\n";
  CHECK(op_names(build(text, Mode::kPredict)) == std::vector<std::string>{"input"});
  const std::string objective = "compile: {loss: mse}\n";
  const Graph graph = build(text + objective, Mode::kTrain, 4, {{"y", DType::kFloat32, {6}}});
  const auto draw = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                 [](const Node& node) { return node.op == &ops::kRandomUniform; });
  REQUIRE(draw != graph.nodes.end());
  CHECK(draw->type.shape == Shape{4, 6});
  CHECK(draw->path == "dropout");
  CHECK(draw->attrs.integer("key") == static_cast<std::int64_t>(random_key(7, "dropout")));
  REQUIRE(draw->inputs.size() == 1);
  const Node& step = graph.node(draw->inputs[0]);
  CHECK(step.attrs.text("name") == "iteration");
  CHECK(step.type == TensorType{DType::kInt64, {}});
}

TEST_CASE("arguments of Dropout") {
  const std::string head = "seed: 7\nmodel: {input: [6, 2], layers: [Dropout: {rate: 0.25, ";
  const std::string tail = "}]}\ncompile: {loss: mse}\n";
  const auto draw_of = [&](const std::string& args) {
    const Graph graph =
        build(head + args + tail, Mode::kTrain, 4, {{"y", DType::kFloat32, {6, 2}}});
    for (const Node& node : graph.nodes) {
      if (node.op == &ops::kRandomUniform) return node;
    }
    return Node{};
  };
  CHECK(draw_of("noise_shape: [null, 1, 2]").type.shape == Shape{4, 1, 2});
  CHECK(draw_of("seed: 3").attrs.integer("key") ==
        static_cast<std::int64_t>(random_key(3, "dropout")));
  CHECK(build_error(head + "noise_shape: [4, 3, 2]" + tail) ==
        "c.yaml:2:72: noise_shape is 3 in dimension 1, where the input is 6; give null or 1");
  CHECK(layers_error("[6]", "Dropout: {rate: 1.5}") ==
        "c.yaml:3:28: layer 'dropout' (Dropout): rate is 1.5, not between 0 and 1");
}

TEST_CASE("regularizers are for variables that the layer has, or would have") {
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_regularizer: null}").empty());
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_regularizer: {L1L2: {l1: 0.1}}}").empty());
  CHECK(layers_error("[6]", "Dense: {units: 2, use_bias: false, bias_regularizer: l1}").empty());
  CHECK(layers_error("[6]", "Dense: {units: 2, kernal_regularizer: l2}") ==
        "c.yaml:3:19: layer 'dense' (Dense): 'kernal_regularizer': it has no variable 'kernal'");
  CHECK(layers_error("[6]", "ReLU: {kernel_regularizer: l2}") ==
        "c.yaml:3:18: layer 're_lu' (ReLU): 'kernel_regularizer': it has no variable 'kernel'");
  CHECK(layers_error(
            "[6]", "Dense: {units: 2, kernel_regularizer: {OrthogonalRegularizer: {mode: row}}}") ==
        "c.yaml:3:81: regularizer OrthogonalRegularizer: mode 'row' is unknown; nearest: 'rows'");
  CHECK(build_error("model: {input: [6], layers: [Dense: {units: 2, bias_regularizer: "
                    "OrthogonalRegularizer}]}\ncompile: {optimizer: sgd, loss: mse}",
                    Mode::kTrain, {{"y", DType::kFloat32, {2}}}) ==
        "c.yaml:1:66: regularizer OrthogonalRegularizer: it is for a variable of two dimensions, "
        "not [2]");
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_regularizer: l3}")
            .starts_with("c.yaml:3:50: there is no regularizer 'l3'"));
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_regularizer: {L2: {l2: -1}}}") ==
        "c.yaml:3:60: regularizer L2: l2 is -1; give 0 or more");
}

TEST_CASE("constraints are for variables that the layer has, or would have") {
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_constraint: null}").empty());
  CHECK(layers_error("[6]", "Dense: {units: 2, use_bias: false, bias_constraint: NonNeg}").empty());
  CHECK(layers_error("[6]", "ReLU: {kernel_constraint: non_neg}") ==
        "c.yaml:3:18: layer 're_lu' (ReLU): 'kernel_constraint': it has no variable 'kernel'");
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_constraint: MaxNrm}")
            .starts_with("c.yaml:3:49: there is no constraint 'MaxNrm'; nearest: 'MaxNorm'"));
  CHECK(
      layers_error("[6]", "Dense: {units: 2, kernel_constraint: {MinMaxNorm: {min_value: 2}}}") ==
      "c.yaml:3:62: constraint MinMaxNorm: min_value is 2, which is above max_value, 1; give it 1 "
      "or less");
  CHECK(layers_error("[5, 6]",
                     "TransformerEncoder: {intermediate_dim: 3, num_heads: 2, "
                     "kernel_constraint: non_neg}")
            .ends_with("'kernel_constraint': it takes no constraints"));
}

TEST_CASE("a constraint is an update of a trained weight, once, while training") {
  const auto updates = [](const std::string& layers, Mode mode) {
    return build("model: {input: [6], layers: [" + layers +
                     "]}\ncompile: {loss: mse, optimizer: sgd}",
                 mode, 4, {{"y", DType::kFloat32, {6}}})
        .updates.size();
  };
  const std::string layer = "Dense: {name: d, units: 6, kernel_constraint: non_neg}";
  CHECK(updates(layer, Mode::kTrain) == 1);
  CHECK(updates(layer + ", use: {layer: d}", Mode::kTrain) == 1);
  CHECK(updates(layer, Mode::kEvaluate) == 0);
  CHECK(build_error("model:\n  input: [6]\n  layers: [Dense: {units: 6, kernel_constraint: "
                    "{MaxNorm: {axis: 2}}}]\ncompile: {loss: mse, optimizer: sgd}",
                    Mode::kTrain, {{"y", DType::kFloat32, {6}}}) ==
        "c.yaml:3:66: axis is 2, but there are 2 dimensions; give -2 to 1");
  CHECK(updates("Dense: {units: 6, kernel_constraint: non_neg, trainable: false}", Mode::kTrain) ==
        0);
}

TEST_CASE("Dot sums over one dimension of each of two inputs") {
  CHECK(output_shape("[5, 4]", "Dot: {axes: 2, inputs: [input, input]}") == Shape{4, 5, 5});
  CHECK(output_shape("[5, 4]", "Dot: {axes: [1, -2], inputs: [input, input]}") == Shape{4, 4, 4});
  CHECK(output_shape("[6]", "Dot: {axes: -1, inputs: [input, input]}") == Shape{4, 1});
  CHECK(layers_error("[5, 4]", "Dot: {axes: [1, 2], inputs: [input, input]}") ==
        "c.yaml:3:17: layer 'dot' (Dot): samples [5, 4] and [5, 4] differ along axes 1 and 2");
  CHECK(layers_error("[5, 4]", "Dot: {axes: 0, inputs: [input, input]}")
            .ends_with("axis 0 is the batch; give 1 to 2, or -1 for the last"));
}

TEST_CASE("no layer goes over the batch as over a dimension of a sample") {
  for (const char* layer : {"LayerNormalization", "RMSNormalization", "BatchNormalization",
                            "GroupNormalization", "UnitNormalization", "Softmax"}) {
    CAPTURE(layer);
    const std::string batch = "axis 0 is the batch; give 1 to 2, or -1 for the last";
    CHECK(layers_error("[5, 4]", fmt::format("{}: {{axis: 0}}", layer)).ends_with(batch));
    CHECK(layers_error("[5, 4]", fmt::format("{}: {{axis: -3}}", layer)).ends_with(batch));
    CHECK(layers_error("[]", layer)
              .ends_with("a sample of its input is one number, and has no axis"));
  }
  CHECK(layers_error("[5, 4]", "LayerNormalization: {axis: [1, 0]}")
            .ends_with("axis 0 is the batch; give 1 to 2, or -1 for the last"));
  CHECK(layers_error("[5, 4]", "BatchNormalization: {axis: [1, 2]}")
            .ends_with("axis must be an integer, not a list"));
  CHECK(layers_error("[5, 4]", "Activation: {activation: {softmax: {axis: 0}}}") ==
        "c.yaml:3:54: activation softmax: axis 0 is the batch; give 1 to 2, or -1 for the last");
  CHECK(layers_error("[5, 4]", "Activation: {activation: {glu: {axis: 0}}}") ==
        "c.yaml:3:50: activation glu: axis 0 is the batch; give 1 to 2, or -1 for the last");
}

TEST_CASE("errors of arguments name layer, place and way out") {
  CHECK(layers_error("[6]", "Dense: {units: 2, name: d, kernel_initialiser: zeros}") ==
        "c.yaml:3:39: layer 'd' (Dense) has no key 'kernel_initialiser'; nearest: "
        "'kernel_initializer', 'bias_initializer'");
  CHECK(layers_error("[6]", "Dense: {units: 2, name: d, kernel_regulariser: l2}") ==
        "c.yaml:3:39: layer 'd' (Dense) has no key 'kernel_regulariser'; nearest: "
        "'kernel_regularizer', 'kernel_initializer'");
  CHECK(layers_error("[6]", "Dense: {units: 2, quantization_config: x}") ==
        "c.yaml:3:51: layer 'dense' (Dense): 'quantization_config' is not supported yet; leave it "
        "out");
  CHECK(
      test::contains(layers_error("[6]", "Embedding: {input_dim: 3, output_dim: 2, weights: [1]}"),
                     "'weights' are read from a file: name one that holds 'embeddings'"));
  const std::string near_refused = layers_error("[6]", "Dense: {units: 2, quantisation_config: x}");
  CHECK(near_refused.find("has no key 'quantisation_config'") != std::string::npos);
  CHECK(near_refused.find("'quantization_config'") == std::string::npos);
  CHECK(layers_error("[6, 6]",
                     "MultiHeadAttention: {num_heads: 2, key_dim: 3, "
                     "activity_regularizer: l2, inputs: [input, input]}")
            .ends_with("'activity_regularizer' is not supported yet; leave it out"));
  CHECK(layers_error("[6]", "Dense: {unit: 10}") ==
        "c.yaml:3:20: layer 'dense' (Dense) needs the key 'units'; is 'unit' meant for it?");
  CHECK(layers_error("[6]", "Dense: {activation: relu}") ==
        "c.yaml:3:19: layer 'dense' (Dense) needs the key 'units'");
  CHECK(layers_error("[6]", "Dense: {units: 0}") ==
        "c.yaml:3:27: layer 'dense' (Dense): units is 0; give 1 or more");
  CHECK(layers_error("[6]", "Dense: {units: 2, activation: rellu}") ==
        "c.yaml:3:42: there is no activation 'rellu'; nearest: 'relu', 'celu'");
  CHECK(layers_error("[6]", "Dense: {units: 2, kernel_initializer: {HeUniform: {sed: 1}}}") ==
        "c.yaml:3:63: initializer HeUniform has no key 'sed'; nearest: 'seed'");
  CHECK(
      layers_error("[6]", "RandomFlip: {mode: horizontal}") ==
      "c.yaml:3:12: layer RandomFlip prepares data, which a model here does not; give the field of "
      "the dataset 'augment', which is for training alone");
  CHECK(layers_error("[6]", "StringLookup: {vocabulary: [a, b]}") ==
        "c.yaml:3:12: layer StringLookup prepares data, which a model here does not; give a column "
        "of a table 'classes', which numbers what stands in it");
  CHECK(test::contains(layers_error("[6]", "TextVectorization: {max_tokens: 9}"),
                       "; to classify texts, give the column of a table (format: csv) a "));
  for (const char* name :
       {"Lambda", "RNN", "ResNet50", "DepthToSpace", "ConvLSTM2D", "Transpose", "Tanh"}) {
    const std::string error = layers_error("[6]", name + std::string(": {units: 3}"));
    CAPTURE(error);
    CHECK(error.starts_with(fmt::format("c.yaml:3:12: there is no layer {} here; ", name)));
    CHECK(error.size() < 220);
  }
  CHECK(layers_error("[6]", "Lambda: {function: x}").find("known:") == std::string::npos);
  CHECK(layers_error("[4, 6]", "Rescaling: {scale: [1, 2, 3]}") ==
        "c.yaml:3:31: layer 'rescaling' (Rescaling): scale has shape [3] for samples [4, 6]; give "
        "one number, one for each channel, or what broadcasts to a sample");
  CHECK(layers_error("[4, 6]", "Rescaling: {scale: [[[1]], [[2]], [[3]]]}").find("[3, 1, 1]") !=
        std::string::npos);
  CHECK(layers_error("[2, 2]", "Rescaling: {scale: [[1, 2], [3]]}") ==
        "c.yaml:3:40: layer 'rescaling' (Rescaling): scale is a list of unequal lists; let each "
        "have as many numbers");
  CHECK(layers_error("[4, 6]", "Normalization: {mean: [1, 2, 3], variance: [1, 2, 3]}") ==
        "c.yaml:3:34: layer 'normalization' (Normalization): mean has shape [3] for samples [4, "
        "6]; give one number, or one for each place along 'axis'");
  CHECK(layers_error("[4, 2]", "Normalization: {mean: [[1, 2]], variance: 1}").find("[1, 2]") !=
        std::string::npos);
  CHECK(layers_error("[2]", "Normalization: {mean: [1, 2], variance: [1, -0.5]}") ==
        "c.yaml:3:52: layer 'normalization' (Normalization): variance has a number below 0; give "
        "squares of deviations");
  CHECK(layers_error("[2]", "Normalization: {mean: 3}") ==
        "c.yaml:3:27: layer 'normalization' (Normalization): there is a mean without a variance; "
        "give both, or neither");
  CHECK(layers_error("[2]", "Normalization: {axis: 0}") ==
        "c.yaml:3:34: layer 'normalization' (Normalization): axis 0 is the batch; give 1 to 1, or "
        "-1 for the last");
  CHECK(layers_error("[4, 3]", "LayerScale: {init_values: 1e-6, projection_dim: 4}") ==
        "c.yaml:3:60: layer 'layer_scale' (LayerScale): projection_dim is 4 for samples [4, 3]; "
        "give 3");
  CHECK(layers_error("[6]", "DENSE: {units: 2}") ==
        "c.yaml:3:12: there is no layer 'DENSE'; nearest: 'Dense'");
  CHECK(layers_error("[6]", "Dence: {units: 2}") ==
        "c.yaml:3:12: there is no layer 'Dence'; nearest: 'Dense'");
  CHECK(layers_error("[6]", "Dense: {units: 2, dtype: float16}") ==
        "c.yaml:3:37: layer 'dense' (Dense): dtype 'float16' is unknown; nearest: "
        "'float32', 'mixed_float16'");
  CHECK(layers_error("[6]", "Softmax: {axis: 2}") ==
        "c.yaml:3:28: axis is 2, but there are 2 dimensions; give -2 to 1");
  CHECK(layers_error("[3]", "Activation: {activation: glu}") ==
        "c.yaml:3:37: activation glu: dimension 1 is 3, an odd number");
  CHECK(layers_error("[]", "Dense: {units: 2}") ==
        "c.yaml:3:19: layer 'dense' (Dense) needs samples of one dimension or more, not []; put a "
        "Reshape before it");
  CHECK(layers_error("[1000]", "Dense: {units: 1000000000000}") ==
        "c.yaml:3:12: 'dense/kernel': a variable of shape [1000, 1000000000000] is too large");
}

TEST_CASE("layers tell which of their variables are there under other arguments only") {
  const config::Config config = config::parse_config(R"(model:
  input: [8, 8, 4]
  layers:
    - Conv2D: {filters: 4, kernel_size: 3, use_bias: false}
    - Conv2DTranspose: {filters: 4, kernel_size: 3, use_bias: false}
    - DepthwiseConv2D: {kernel_size: 3, use_bias: false}
    - SeparableConv2D: {filters: 4, kernel_size: 3, use_bias: false}
    - BatchNormalization: {scale: false, center: false}
    - LayerNormalization: {scale: false}
    - LayerNormalization: {name: rms, rms_scaling: true}
    - GroupNormalization: {groups: 2, center: false}
    - Dense: {units: 3, use_bias: false}
    - Dense: {units: 3}
)",
                                                     "c.yaml", {});
  ModelFacts facts;
  build_model(config, stated_signature(config.model), Mode::kPredict, 2, &facts);
  CHECK(facts.absent ==
        std::map<std::string, std::string>{{"conv2d/bias", "use_bias: false"},
                                           {"conv2d_transpose/bias", "use_bias: false"},
                                           {"depthwise_conv2d/bias", "use_bias: false"},
                                           {"separable_conv2d/bias", "use_bias: false"},
                                           {"batch_normalization/gamma", "scale: false"},
                                           {"batch_normalization/beta", "center: false"},
                                           {"layer_normalization/gamma", "scale: false"},
                                           {"rms/beta", "rms_scaling: true"},
                                           {"group_normalization/beta", "center: false"},
                                           {"dense/bias", "use_bias: false"},
                                           {"dense/lora_kernel_a", "no lora_rank"},
                                           {"dense/lora_kernel_b", "no lora_rank"},
                                           {"dense_1/lora_kernel_a", "no lora_rank"},
                                           {"dense_1/lora_kernel_b", "no lora_rank"}});
}
