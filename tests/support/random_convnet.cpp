#include <fmt/format.h>

#include <algorithm>

#include "support/dice.h"
#include "support/random_model.h"

namespace meshwork::testing {
namespace {

/// Biases and offsets that start at zero would stay there but for rounding wherever a normalization
/// follows, and zeros that are padded would lie on the kink of a rectifier.
std::string with_random_offset(const std::string& type, const std::string& arguments) {
  const bool normalizes = type.find("Normalization") != std::string::npos;
  if (!normalizes && type.find("Conv2D") == std::string::npos) return arguments;
  return fmt::format("{}{}{}_initializer: {{RandomNormal: {{stddev: 0.2}}}}", arguments,
                     arguments.empty() ? "" : ", ", normalizes ? "beta" : "bias");
}

/// Layers on images, one after the other; the extents of the last output are known, so that
/// windows fit.
class ImageLayers {
 public:
  ImageLayers(Dice& dice, const MeshShape& mesh, int height, int width, int channels)
      : dice_(dice), mesh_(mesh), height_(height), width_(width), channels_(channels) {
    rule("input/output", 4, 60);
  }

  void convolution() {
    const auto [kernel, stride, dilation, padding] = window();
    const std::vector<int> divisors{1, 1, 1, 2, 3};
    int groups = dice_.one_of(divisors);
    if (channels_ % groups != 0) groups = 1;
    const int filters = groups * dice_.between(1, 4);
    add("Conv2D", fmt::format("filters: {}, kernel_size: [{}, {}], strides: {}, dilation_rate: {}, "
                              "groups: {}, padding: {}, use_bias: {}",
                              filters, kernel[0], kernel[1], stride, dilation, groups, padding,
                              dice_.chance(50)));
    rule(name_ + "/kernel", 4, 50);
    resize(kernel, stride, dilation, padding);
    channels_ = filters;
  }

  void depthwise() {
    const auto [kernel, stride, dilation, padding] = window();
    const int multiplier = dice_.between(1, 2);
    const bool separable = dice_.chance(40);
    const std::string common = fmt::format(
        "kernel_size: [{}, {}], strides: {}, dilation_rate: {}, padding: {}, "
        "depth_multiplier: {}",
        kernel[0], kernel[1], stride, dilation, padding, multiplier);
    if (separable) {
      const int filters = dice_.between(1, 5);
      add("SeparableConv2D", fmt::format("filters: {}, {}", filters, common));
      rule(name_ + "/depthwise_kernel", 4, 40);
      rule(name_ + "/pointwise_kernel", 4, 40);
      channels_ = filters;
    } else {
      add("DepthwiseConv2D", common);
      rule(name_ + "/kernel", 4, 40);
      channels_ *= multiplier;
    }
    resize(kernel, stride, dilation, padding);
  }

  void transposed() {
    if (std::max(height_, width_) > 8) return pool();
    const int kernel = dice_.between(1, 4);
    const int stride = dice_.between(1, 2);
    const int filters = dice_.between(1, 4);
    const bool same = dice_.chance(50);
    add("Conv2DTranspose", fmt::format("filters: {}, kernel_size: {}, strides: {}, padding: {}",
                                       filters, kernel, stride, same ? "same" : "valid"));
    rule(name_ + "/kernel", 4, 40);
    const int more = same ? 0 : std::max(kernel - stride, 0);
    height_ = height_ * stride + more;
    width_ = width_ * stride + more;
    channels_ = filters;
  }

  void pool() {
    const auto [kernel, stride, dilation, padding] = window();
    const std::string kind = dice_.chance(50) ? "MaxPooling2D" : "AveragePooling2D";
    add(kind, fmt::format("pool_size: [{}, {}], strides: {}, padding: {}", kernel[0], kernel[1],
                          stride, padding));
    resize(kernel, stride, 1, padding);
  }

  void normalize() {
    switch (dice_.below(4)) {
      case 0:
      case 1:
        add("BatchNormalization", fmt::format("momentum: 0.8, scale: {}, center: {}",
                                              dice_.chance(60), dice_.chance(60)));
        rule(name_ + "/(gamma|beta|moving_mean)", 1, 30);
        break;
      case 2:
        add("LayerNormalization", "");
        break;
      default:
        add("GroupNormalization", fmt::format("groups: {}", channels_ % 2 == 0 ? 2 : 1));
    }
  }

  void reshape_space() {
    if (dice_.chance(50) && std::max(height_, width_) <= 6) {
      const int size = dice_.between(1, 2);
      add("UpSampling2D", fmt::format("size: [{}, 2]", size));
      height_ *= size;
      width_ *= 2;
      return;
    }
    const int top = dice_.below(3);
    const int left = dice_.below(3);
    add("ZeroPadding2D", fmt::format("padding: [[{}, 1], [{}, 0]]", top, left));
    height_ += top + 1;
    width_ += left;
  }

  void pointwise() {
    static const std::vector<std::string> kLayers{"ReLU",
                                                  "LeakyReLU: {negative_slope: 0.1}",
                                                  "PReLU: {shared_axes: [1, 2]}",
                                                  "Softmax",
                                                  "SpatialDropout2D: {rate: 0.3}",
                                                  "Dropout: {rate: 0.3}",
                                                  "GaussianNoise: {stddev: 0.1}",
                                                  "Activation: {activation: tanh}"};
    const std::string& layer = dice_.one_of(kLayers);
    const std::size_t colon = layer.find(": {");
    const std::string arguments =
        colon == std::string::npos ? "" : layer.substr(colon + 3, layer.size() - colon - 4);
    add(layer.substr(0, colon), arguments);
  }

  /// A convolution of the same shape, added to what it took.
  void residual() {
    const std::string before = name_;
    if (before.empty()) return convolution();
    add("Conv2D", fmt::format("filters: {}, kernel_size: 3, padding: same", channels_));
    rule(name_ + "/kernel", 4, 40);
    add("Add", fmt::format("inputs: [{}, {}]", before, name_));
  }

  void flatten() {
    static const std::vector<std::string> kEnds{"Flatten", "GlobalAveragePooling2D",
                                                "GlobalMaxPooling2D"};
    add(dice_.one_of(kEnds), "", 2);
  }

  std::string text;
  std::string rules;

 private:
  struct Window {
    std::vector<int> kernel;
    int stride;
    int dilation;
    std::string padding;
  };

  /// One that fits the image, larger than it only where it is padded.
  Window window() {
    Window result;
    const bool same = dice_.chance(60);
    result.padding = same ? "same" : "valid";
    result.kernel = {dice_.between(1, 4), dice_.between(1, 4)};
    result.stride = dice_.between(1, 3);
    result.dilation = result.stride == 1 && dice_.chance(20) ? 2 : 1;
    if (!same) {
      result.dilation = 1;
      result.kernel[0] = std::min(result.kernel[0], height_);
      result.kernel[1] = std::min(result.kernel[1], width_);
    }
    return result;
  }

  void resize(const std::vector<int>& kernel, int stride, int dilation,
              const std::string& padding) {
    const auto out = [&](int in, int k) {
      return padding == "same" ? (in + stride - 1) / stride
                               : (in - dilation * (k - 1) - 1) / stride + 1;
    };
    height_ = out(height_, kernel[0]);
    width_ = out(width_, kernel[1]);
  }

  void add(const std::string& type, const std::string& given, int rank = 4) {
    const std::string arguments = with_random_offset(type, given);
    name_ = fmt::format("l{}", ++count_);
    text += fmt::format("    - {}: {{name: {}{}{}}}\n", type, name_, arguments.empty() ? "" : ", ",
                        arguments);
    rule(name_ + "/output", rank, 20);
  }

  void rule(const std::string& path, int rank, int percent) {
    if (dice_.chance(percent)) {
      rules += fmt::format("  {}: {}\n", path, random_layout(dice_, mesh_, rank));
    }
  }

  Dice& dice_;
  const MeshShape& mesh_;
  int height_;
  int width_;
  int channels_;
  int count_ = 0;
  std::string name_;
};

void add_layers(Dice& dice, ImageLayers& layers) {
  layers.convolution();
  const int count = dice.between(2, 5);
  for (int i = 0; i < count; ++i) {
    const int kind = dice.below(16);
    if (kind < 4) layers.convolution();
    if (kind == 4 || kind == 5) layers.depthwise();
    if (kind == 6) layers.transposed();
    if (kind == 7 || kind == 8) layers.pool();
    if (kind >= 9 && kind < 12) layers.normalize();
    if (kind == 12) layers.reshape_space();
    if (kind == 13 || kind == 14) layers.pointwise();
    if (kind == 15) layers.residual();
  }
  layers.flatten();
}

}  // namespace

RandomModel random_convnet(std::uint64_t seed) {
  Dice dice(seed + 1'000'000);
  RandomModel result;
  const MeshShape mesh = random_mesh(dice);
  result.mesh = mesh.text;
  const int height = dice.between(3, 11);
  const int width = dice.between(3, 11);
  const int channels = dice.between(1, 4);
  const int batch = dice.between(2, 7);
  const int samples = batch + dice.between(2, batch);

  ImageLayers layers(dice, mesh, height, width, channels);
  add_layers(dice, layers);
  static const std::vector<std::string> kOptimizers{"SGD: {learning_rate: 0.05, momentum: 0.9}",
                                                    "Adam: {learning_rate: 0.003, epsilon: 0.001}"};
  result.text = fmt::format(
      "seed: {}\ndataset:\n  name: random\n  format: synthetic\n  splits:\n    train: {{x: "
      "{{normal: [{}, {}, {}, {}]}}, y: {{integers: [{}], below: 3}}}}\nmodel:\n  input: [{}, {}, "
      "{}]\n  layers:\n{}    - Dense: {{name: last, units: 3}}\ncompile:\n  optimizer: {{{}}}\n  "
      "loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}\n  metrics: [accuracy]\n"
      "fit: {{batch_size: {}}}\n",
      seed, samples, height, width, channels, samples, height, width, channels, layers.text,
      dice.one_of(kOptimizers), batch);
  result.layouts = layout_map(layers.rules);
  if (dice.chance(20)) result.layouts += "batch_axis: " + mesh.names[1] + "\n";
  if (dice.chance(30)) result.layouts += "keep_gathered: true\n";
  return result;
}

}  // namespace meshwork::testing
