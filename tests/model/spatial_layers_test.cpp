// Shapes, variables and messages of the layers of convolutional networks; their numbers are in
// keras_calls_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/rng.h"
#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

Graph layer_graph(const std::string& input, const std::string& layers, Mode mode = Mode::kPredict) {
  const std::string text = "model: {input: " + input + ", layers: [" + layers + "]}\n";
  if (mode == Mode::kPredict) return build(text);
  const Graph shapes = build(text);
  const Shape output = shapes.type(output_value(shapes, "prediction")).shape;
  const Field label{"label", DType::kFloat32, {output.begin() + 1, output.end()}};
  return build(text + "compile: {loss: mse}\n", mode, 4, {label});
}

/// Shape of a sample of the output.
Shape output_shape(const std::string& input, const std::string& layers) {
  const Graph graph = layer_graph(input, layers);
  const Shape& shape = graph.type(output_value(graph, "prediction")).shape;
  return {shape.begin() + 1, shape.end()};
}

/// "kernel [3, 3, 2, 4]", "bias [4]" of the layer called `l`.
std::vector<std::string> variables(const Graph& graph) {
  std::vector<std::string> result;
  for (const Variable& variable : graph.variables) {
    result.push_back(variable.path + " " + to_string(graph.type(variable.value).shape) +
                     (variable.trainable ? "" : " frozen"));
  }
  return result;
}

std::string layer_error(const std::string& input, const std::string& layer) {
  return build_error("model:\n  input: " + input + "\n  layers:\n    - " + layer + "\n");
}

bool has_op(const Graph& graph, const OpDef& op) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.op == &op; });
}

const Node& only_node(const Graph& graph, const OpDef& op) {
  const auto is_op = [&](const Node& node) { return node.op == &op; };
  REQUIRE(std::count_if(graph.nodes.begin(), graph.nodes.end(), is_op) == 1);
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), is_op);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("convolutions have Keras's sizes") {
  CHECK(output_shape("[28, 28, 1]", "Conv2D: {filters: 12, kernel_size: 3}") == Shape{26, 26, 12});
  CHECK(output_shape("[28, 28, 1]", "Conv2D: {filters: 12, kernel_size: 3, padding: same}") ==
        Shape{28, 28, 12});
  CHECK(output_shape("[28, 27, 1]",
                     "Conv2D: {filters: 4, kernel_size: 6, strides: 2, padding: SAME}") ==
        Shape{14, 14, 4});
  CHECK(output_shape("[9, 9, 1]", "Conv2D: {filters: 4, kernel_size: 3, dilation_rate: 4}") ==
        Shape{1, 1, 4});
  CHECK(output_shape("[9, 2]", "Convolution1D: {filters: 4, kernel_size: 5, padding: causal}") ==
        Shape{9, 4});
  CHECK(output_shape("[4, 5, 6, 2]", "Conv3D: {filters: 3, kernel_size: 2}") == Shape{3, 4, 5, 3});
  CHECK(output_shape("[7, 7, 3]", "DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 2}") ==
        Shape{5, 5, 6});
  CHECK(output_shape("[7, 3]", "SeparableConv1D: {filters: 8, kernel_size: 3, strides: 2}") ==
        Shape{3, 8});
}

TEST_CASE("padding: same puts the odd element after the last") {
  const Graph graph = layer_graph(
      "[8, 7, 1]", "Conv2D: {filters: 1, kernel_size: [3, 4], strides: 2, padding: same}");
  const Node& node = only_node(graph, ops::kConvolution);
  CHECK(node.attrs.integers("padding") == Shape{0, 1});
  CHECK(node.attrs.integers("extents") == Shape{4, 4});
}

TEST_CASE("transposed convolutions have Keras's sizes") {
  const auto shape = [](const std::string& args) {
    return output_shape("[4, 5, 2]", "Conv2DTranspose: {filters: 3, " + args + "}");
  };
  CHECK(shape("kernel_size: 3, strides: 2") == Shape{9, 11, 3});
  CHECK(shape("kernel_size: 2, strides: 3") == Shape{12, 15, 3});
  CHECK(shape("kernel_size: 3, strides: 2, padding: same") == Shape{8, 10, 3});
  CHECK(shape("kernel_size: 3, strides: 3, output_padding: [0, 2]") == Shape{12, 17, 3});
  CHECK(shape("kernel_size: 4, strides: 3, output_padding: 1, padding: same") == Shape{10, 13, 3});
}

TEST_CASE("layers of convolutions have Keras's variables") {
  CHECK(
      variables(layer_graph("[7, 7, 6]", "Conv2D: {filters: 9, kernel_size: [3, 2], groups: 3}")) ==
      Names{"conv2d/kernel [3, 2, 2, 9]", "conv2d/bias [9]"});
  CHECK(variables(layer_graph("[7, 6]", "Conv1D: {filters: 9, kernel_size: 3, use_bias: false}")) ==
        Names{"conv1d/kernel [3, 6, 9]"});
  CHECK(variables(layer_graph("[7, 7, 6]",
                              "DepthwiseConv2D: {kernel_size: 3, depth_multiplier: "
                              "2}")) ==
        Names{"depthwise_conv2d/kernel [3, 3, 6, 2]", "depthwise_conv2d/bias [12]"});
  CHECK(variables(layer_graph("[7, 7, 6]",
                              "SeparableConv2D: {filters: 4, kernel_size: 3, "
                              "depth_multiplier: 2}")) ==
        Names{"separable_conv2d/depthwise_kernel [3, 3, 6, 2]",
              "separable_conv2d/pointwise_kernel [1, 1, 12, 4]", "separable_conv2d/bias [4]"});
  CHECK(variables(layer_graph("[7, 7, 6]", "Conv2DTranspose: {filters: 4, kernel_size: 3}")) ==
        Names{"conv2d_transpose/kernel [3, 3, 4, 6]", "conv2d_transpose/bias [4]"});
  CHECK(variables(layer_graph("[7, 6, 5]", "PReLU: {shared_axes: [1, 2]}")) ==
        Names{"p_re_lu/alpha [1, 1, 5]"});
}

TEST_CASE("normalizations have Keras's variables") {
  CHECK(variables(layer_graph("[7, 6]", "BatchNormalization")) ==
        Names{"batch_normalization/gamma [6]", "batch_normalization/beta [6]",
              "batch_normalization/moving_mean [6] frozen",
              "batch_normalization/moving_variance [6] frozen"});
  CHECK(variables(layer_graph("[7, 6]", "BatchNormalization: {axis: 1, scale: false}")) ==
        Names{"batch_normalization/beta [7]", "batch_normalization/moving_mean [7] frozen",
              "batch_normalization/moving_variance [7] frozen"});
  CHECK(variables(layer_graph("[7, 6]", "LayerNormalization: {axis: [2, 1]}")) ==
        Names{"layer_normalization/gamma [7, 6]", "layer_normalization/beta [7, 6]"});
  CHECK(variables(layer_graph("[7, 6]", "LayerNormalization: {rms_scaling: true}")) ==
        Names{"layer_normalization/gamma [6]"});
  CHECK(variables(layer_graph("[7, 6]", "GroupNormalization: {groups: 3, center: false}")) ==
        Names{"group_normalization/gamma [6]"});
  CHECK(variables(layer_graph("[7, 6]", "RMSNormalization")) ==
        Names{"rms_normalization/scale [6]"});
}

TEST_CASE("BatchNormalization takes batch statistics only where it is trained") {
  const Graph trained = layer_graph("[5, 6]", "BatchNormalization", Mode::kTrain);
  CHECK(has_op(trained, ops::kShiftedSums));
  CHECK(trained.updates.size() == 2);
  for (const Mode mode : {Mode::kEvaluate, Mode::kPredict}) {
    const Graph graph = layer_graph("[5, 6]", "BatchNormalization", mode);
    CHECK_FALSE(has_op(graph, ops::kShiftedSums));
    CHECK(graph.updates.empty());
  }
  const Graph frozen =
      layer_graph("[5, 6]", "BatchNormalization: {trainable: false}", Mode::kTrain);
  CHECK_FALSE(has_op(frozen, ops::kShiftedSums));
  CHECK(frozen.updates.empty());
}

TEST_CASE("pools have Keras's sizes") {
  CHECK(output_shape("[7, 6, 3]", "MaxPooling2D") == Shape{3, 3, 3});
  CHECK(output_shape("[7, 6, 3]", "MaxPool2D: {padding: same}") == Shape{4, 3, 3});
  CHECK(output_shape("[7, 6, 3]", "AveragePooling2D: {pool_size: [3, 2], strides: 1}") ==
        Shape{5, 5, 3});
  CHECK(output_shape("[7, 3]", "AvgPool1D: {pool_size: 2, strides: 3}") == Shape{2, 3});
  CHECK(output_shape("[7, 6, 3]", "GlobalAveragePooling2D") == Shape{3});
  CHECK(output_shape("[7, 6, 3]", "GlobalMaxPool2D: {keepdims: true}") == Shape{1, 1, 3});
  CHECK(output_shape("[7, 3]", "GlobalMaxPooling1D") == Shape{3});
  CHECK(output_shape("[7, 6, 3]", "AdaptiveMaxPooling2D: {output_size: [2, 9]}") == Shape{2, 9, 3});
  CHECK(layer_error("[7, 6, 3]", "AdaptiveAveragePooling2D") ==
        "c.yaml:4:7: layer 'adaptive_average_pooling2d' (AdaptiveAveragePooling2D) needs the key "
        "'output_size'");
  CHECK(layer_error("[7, 3]", "AdaptiveAveragePooling1D: {output_size: 0}") ==
        "c.yaml:4:47: layer 'adaptive_average_pooling1d' (AdaptiveAveragePooling1D): output_size "
        "is 0; give 1 to 65536");
}

TEST_CASE("an adaptive pool has a window for each place that windows may have between elements") {
  const auto pools = [](const std::string& output_size) {
    const Graph graph =
        layer_graph("[12, 3]", "AdaptiveMaxPooling1D: {output_size: " + output_size + "}");
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const Node& node) { return node.op == &ops::kMaxPool; });
  };
  CHECK(pools("4") == 1);
  CHECK(pools("12") == 0);
  CHECK(pools("8") == 2);
  CHECK(pools("5") == 5);
  CHECK(layer_error("[4097, 3]", "AdaptiveAveragePooling1D: {output_size: 2048}") ==
        "c.yaml:4:47: layer 'adaptive_average_pooling1d' (AdaptiveAveragePooling1D): output_size "
        "2048 of 4097 elements makes 2048 kinds of windows, and 1024 are the most; give one that "
        "has a greater divisor in common with 4097");
}

TEST_CASE("a window that is much larger than the image is cut to what it can see") {
  const Graph graph =
      layer_graph("[3, 4, 2]", "MaxPooling2D: {pool_size: 65536, strides: 1, padding: same}");
  for (const std::int64_t extent : only_node(graph, ops::kMaxPool).attrs.integers("window")) {
    CHECK(extent < 20);
  }
}

TEST_CASE("padding, cropping, repeating and permuting") {
  CHECK(output_shape("[4, 5, 2]", "ZeroPadding2D") == Shape{6, 7, 2});
  CHECK(output_shape("[4, 5, 2]", "ZeroPadding2D: {padding: [[1, 2], [0, 3]]}") == Shape{7, 8, 2});
  CHECK(output_shape("[4, 5, 2]", "Cropping2D: {cropping: [1, 2]}") == Shape{2, 1, 2});
  CHECK(output_shape("[4, 5, 2]", "Cropping2D") == Shape{4, 5, 2});
  CHECK(output_shape("[4, 2]", "Cropping1D") == Shape{2, 2});
  CHECK(output_shape("[4, 2]", "ZeroPadding1D: {padding: [0, 3]}") == Shape{7, 2});
  CHECK(output_shape("[4, 5, 2]", "UpSampling2D: {size: [2, 3]}") == Shape{8, 15, 2});
  CHECK(output_shape("[4, 5, 2]", "UpSampling2D: {interpolation: bilinear}") == Shape{8, 10, 2});
  CHECK(output_shape("[4, 5, 2]", "Permute: {dims: [3, 1, 2]}") == Shape{2, 4, 5});
  CHECK(output_shape("[4]", "RepeatVector: {n: 3}") == Shape{3, 4});
}

TEST_CASE("layers of noise draw in training only, from streams of their own") {
  for (const char* layer : {"GaussianNoise: {stddev: 0.1}", "GaussianDropout: {rate: 0.1}"}) {
    CHECK_FALSE(has_op(layer_graph("[5, 2]", layer), ops::kRandomNormal));
    const Graph graph = layer_graph("[5, 2]", layer, Mode::kTrain);
    const Node& draw = only_node(graph, ops::kRandomNormal);
    CHECK(draw.type.shape == Shape{4, 5, 2});
    CHECK(graph.node(draw.inputs.at(0)).attrs.text("name") == "iteration");
  }
  const Graph own = layer_graph("[5, 2]", "GaussianNoise: {stddev: 1, seed: 9}", Mode::kTrain);
  CHECK(only_node(own, ops::kRandomNormal).attrs.integer("key") ==
        static_cast<std::int64_t>(random_key(9, "gaussian_noise")));
  CHECK(only_node(own, ops::kRandomNormal).attrs.real("stddev") == 1);
  const Graph half = layer_graph("[5, 2]", "GaussianDropout: {rate: 0.5}", Mode::kTrain);
  CHECK(only_node(half, ops::kRandomNormal).attrs.real("mean") == 1);
  CHECK(only_node(half, ops::kRandomNormal).attrs.real("stddev") == 1);
}

TEST_CASE("spatial dropout draws for channels, dropout as noise_shape says") {
  const auto mask = [](const std::string& input, const std::string& layer) {
    return only_node(layer_graph(input, layer, Mode::kTrain), ops::kRandomUniform).type.shape;
  };
  CHECK(mask("[5, 2]", "SpatialDropout1D: {rate: 0.5}") == Shape{4, 1, 2});
  CHECK(mask("[5, 6, 2]", "SpatialDropout2D: {rate: 0.5}") == Shape{4, 1, 1, 2});
  CHECK(mask("[5, 6, 2, 3]", "SpatialDropout3D: {rate: 0.5}") == Shape{4, 1, 1, 1, 3});
  CHECK(mask("[5, 6, 2]", "StochasticDepth: {drop_path_rate: 0.5}") == Shape{4, 1, 1, 1});
  CHECK(mask("[5, 2]", "Dropout: {rate: 0.5, noise_shape: [null, 1, null]}") == Shape{4, 1, 2});
  CHECK(mask("[5, 2]", "AlphaDropout: {rate: 0.5, noise_shape: [1, null, 2]}") == Shape{1, 5, 2});
  CHECK(layer_error("[5, 2]", "AlphaDropout: {rate: 1}") ==
        "c.yaml:4:21: layer 'alpha_dropout' (AlphaDropout): rate is 1, which keeps nothing; give "
        "less");
}

TEST_CASE("windows that do not fit say so with the place") {
  CHECK(layer_error("[2, 5, 1]", "Conv2D: {filters: 1, kernel_size: 3}") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D): the output would have no elements: along dimension "
        "0 of [2, 5] the window spans 3 of 2; make it smaller, or give padding: same");
  CHECK(layer_error("[9, 5, 1]", "Conv2D: {filters: 1, kernel_size: 3, dilation_rate: 3}") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D): the output would have no elements: along dimension "
        "1 of [9, 5] the window spans 7 of 5; make it smaller, or give padding: same");
  CHECK(layer_error("[1, 5, 1]", "MaxPooling2D") ==
        "c.yaml:4:7: layer 'max_pooling2d' (MaxPooling2D): the output would have no elements: "
        "along dimension 0 of [1, 5] the window spans 2 of 1; make it smaller, or give padding: "
        "same");
  CHECK(layer_error("[4, 2]", "Cropping1D: {cropping: 2}") ==
        "c.yaml:4:19: layer 'cropping1d' (Cropping1D): cropping 2 and 2 of 4 leaves nothing of "
        "dimension 0");
}

TEST_CASE("arguments of convolutions that do not go together") {
  const auto error = [](const std::string& args) {
    return layer_error("[8, 8, 6]", "Conv2D: {" + args + "}");
  };
  CHECK(error("filters: 4, kernel_size: 3, strides: 2, dilation_rate: [1, 2]") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D): strides [2, 2] and dilation_rate [1, 2] are both "
        "above 1; give one of them");
  CHECK(error("filters: 4, kernel_size: 3, groups: 3") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D): filters is 4, not divisible by groups, 3");
  CHECK(error("filters: 8, kernel_size: 3, groups: 4") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D): its input has 6 channels, not divisible by groups, "
        "4");
  CHECK(error("filters: 8, kernel_size: [3, 3, 3]") ==
        "c.yaml:4:41: layer 'conv2d' (Conv2D): kernel_size has 3 numbers; give one number, or 2");
  CHECK(error("filters: 8, kernel_size: [3, 0]") ==
        "c.yaml:4:45: layer 'conv2d' (Conv2D): kernel_size is 0; give 1 to 65536");
  CHECK(error("filters: 8, kernel_size: 3, padding: full") ==
        "c.yaml:4:53: layer 'conv2d' (Conv2D): padding is 'full'; give valid or same");
  CHECK(error("filters: 8, kernel_size: 3, padding: causal") ==
        "c.yaml:4:53: layer 'conv2d' (Conv2D): padding is 'causal'; give valid or same");
  CHECK(error("filters: 0, kernel_size: 3") ==
        "c.yaml:4:25: layer 'conv2d' (Conv2D): filters is 0; give 1 or more");
  CHECK(error("kernel_size: 3") == "c.yaml:4:15: layer 'conv2d' (Conv2D) needs the key 'filters'");
  CHECK(layer_error("[8, 8, 6]",
                    "Conv2DTranspose: {filters: 4, kernel_size: 3, strides: 2, "
                    "output_padding: 2}") ==
        "c.yaml:4:24: layer 'conv2d_transpose' (Conv2DTranspose): output_padding [2, 2] must be "
        "less than strides [2, 2] in every dimension");
}

TEST_CASE("samples that are no images, and channels that come first") {
  CHECK(layer_error("[784]", "Conv2D: {filters: 4, kernel_size: 3}") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D) needs samples [height, width, channels], not [784]; "
        "put a Reshape before it");
  CHECK(layer_error("[28, 28]", "Conv2D: {filters: 4, kernel_size: 3}") ==
        "c.yaml:4:15: layer 'conv2d' (Conv2D) needs samples [height, width, channels], not [28, "
        "28]; put a Reshape before it, or give the model input: [28, 28, 1], for which data of "
        "[28, 28] do");
  CHECK(layer_error("[8, 8, 1]", "MaxPooling1D") ==
        "c.yaml:4:7: layer 'max_pooling1d' (MaxPooling1D) needs samples [steps, channels], not [8, "
        "8, 1]; put a Reshape before it");
  CHECK(layer_error("[1, 8, 8]",
                    "Conv2D: {filters: 4, kernel_size: 3, data_format: "
                    "channels_first}") ==
        "c.yaml:4:57: layer 'conv2d' (Conv2D): data_format 'channels_first' is not supported; "
        "samples are [height, width, channels]: leave data_format out, and put Permute: {dims: [2, "
        "3, 1]} before the layer if the channels come first");
  CHECK(layer_error("[1, 8, 8]", "UpSampling2D: {data_format: last}") ==
        "c.yaml:4:35: layer 'up_sampling2d' (UpSampling2D): data_format is 'last'; give "
        "channels_last, or leave it out");
  CHECK(layer_error("[8, 8, 1]",
                    "Conv2D: {filters: 4, kernel_size: 3, data_format: "
                    "channels_last}")
            .empty());
}

TEST_CASE("arguments of normalizations") {
  CHECK(layer_error("[8, 6]", "GroupNormalization: {groups: 4}") ==
        "c.yaml:4:27: layer 'group_normalization' (GroupNormalization): its input has 6 channels, "
        "not divisible by groups, 4");
  CHECK(layer_error("[8, 6]", "GroupNormalization") ==
        "c.yaml:4:7: layer 'group_normalization' (GroupNormalization): its input has 6 channels, "
        "not divisible by groups, 32");
  CHECK(layer_error("[8, 6]", "GroupNormalization: {groups: 0}") ==
        "c.yaml:4:27: layer 'group_normalization' (GroupNormalization): groups is 0; give 1 or "
        "more, or -1 for one of every channel");
  CHECK(layer_error("[8, 6]", "GroupNormalization: {groups: 2, axis: 0}") ==
        "c.yaml:4:45: layer 'group_normalization' (GroupNormalization): axis 0 is the batch; give "
        "1 to 2, or -1 for the last");
  CHECK(layer_error("[8, 6]", "LayerNormalization: {axis: [1, -2]}") ==
        "c.yaml:4:34: axis names dimension 1 twice");
  CHECK(layer_error("[8, 6]", "LayerNormalization: {axis: []}") ==
        "c.yaml:4:34: axis is an empty list; give at least one dimension");
  CHECK(layer_error("[8, 6]", "LayerNormalization: {epsilon: -1}") ==
        "c.yaml:4:37: layer 'layer_normalization' (LayerNormalization): epsilon is -1; give 0 or "
        "more");
  CHECK(layer_error("[8, 6]", "BatchNormalization: {axis: 3}") ==
        "c.yaml:4:34: axis is 3, but there are 3 dimensions; give -3 to 2");
  CHECK(layer_error("[8, 6]", "BatchNormalization: {renorm: true}") ==
        "c.yaml:4:27: layer 'batch_normalization' (BatchNormalization): 'renorm' is not supported "
        "yet; leave it out");
  CHECK(layer_error("[8, 6]", "BatchNormalization: {momentum: 1.5}") ==
        "c.yaml:4:38: layer 'batch_normalization' (BatchNormalization): momentum is 1.5, not "
        "between 0 and 1");
  CHECK(layer_error("[8, 6]",
                    "BatchNormalization: {renorm: false, renorm_momentum: 0.99, "
                    "synchronized: true}")
            .empty());
}

TEST_CASE("arguments of the other layers") {
  CHECK(layer_error("[8, 6]", "PReLU: {shared_axes: [0]}") ==
        "c.yaml:4:28: layer 'p_re_lu' (PReLU): shared_axes has 0; give 1 to 2, where 0 would be "
        "the batch");
  CHECK(layer_error("[8, 6]", "Permute: {dims: [1, 1]}") ==
        "c.yaml:4:23: layer 'permute' (Permute): dims [1, 1] must name each dimension of [8, 6] "
        "once, counted from 1");
  CHECK(layer_error("[8, 6]", "RepeatVector: {n: 2}") ==
        "c.yaml:4:21: layer 'repeat_vector' (RepeatVector) needs samples of one dimension, not [8, "
        "6]; put a Flatten before it");
  CHECK(layer_error("[8, 6]", "ReLU: {negative_slope: -1}") ==
        "c.yaml:4:30: layer 're_lu' (ReLU): negative_slope is -1; give 0 or more");
  CHECK(layer_error("[8, 6]", "LeakyReLU: {negative_slope: -0.5}") ==
        "c.yaml:4:35: layer 'leaky_re_lu' (LeakyReLU): negative_slope is -0.5; give 0 or more");
  CHECK(layer_error("[8, 6, 1]", "UpSampling2D: {interpolation: lanczos3}") ==
        "c.yaml:4:37: layer 'up_sampling2d' (UpSampling2D): interpolation 'lanczos3' is "
        "unknown; known: 'nearest', 'bilinear', 'bicubic'");
  CHECK(layer_error("[8, 6, 1]", "ZeroPadding2D: {padding: [1, 2, 3]}") ==
        "c.yaml:4:32: layer 'zero_padding2d' (ZeroPadding2D): padding has 3 entries; give one "
        "number, 2 numbers, or 2 pairs");
  CHECK(layer_error("[8, 6, 1]", "ZeroPadding2D: {padding: [1, -2]}") ==
        "c.yaml:4:36: layer 'zero_padding2d' (ZeroPadding2D): padding is -2; give 0 to 65536");
  CHECK(layer_error("[8, 6, 1]", "AveragePooling2D: {strides: 2}") ==
        "c.yaml:4:25: layer 'average_pooling2d' (AveragePooling2D) needs the key 'pool_size'");
}

TEST_CASE("layers whose results would be too large say so") {
  CHECK(layer_error("[1000000, 1000000]", "UpSampling1D: {size: 65536}") ==
        "c.yaml:4:7: layer 'up_sampling1d' (UpSampling1D): its output would have more than 2^46 "
        "elements, or 2^31 along a dimension");
  CHECK(layer_error("[1000, 1000, 1]",
                    "Conv2D: {filters: 1000000000, kernel_size: 65536, "
                    "padding: same}") ==
        "c.yaml:4:7: 'conv2d/kernel': a variable of shape [65536, 65536, 1, 1000000000] is too "
        "large");
  CHECK(layer_error("[4]", "RepeatVector: {n: 4611686018427387904}") ==
        "c.yaml:4:21: layer 'repeat_vector' (RepeatVector): its output would have more than 2^46 "
        "elements");
}
