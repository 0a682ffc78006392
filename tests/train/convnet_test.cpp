// The network of the guide "Multi-GPU distributed training with JAX", with its dropout and with
// augmented images: ten steps on every kind of mesh.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

// Of this seed no activation is so near to 0 that the order of a sum decides whether it passes.
const std::string kConvnet = R"(
seed: 3
dataset:
  name: images
  format: synthetic
  splits: {train: {x: {uniform: [60, 28, 28, 1]}, y: {integers: [60], below: 10}}}
  x:
    augment:
      - RandomFlip: {mode: horizontal}
      - RandomTranslation: {height_factor: 0.1, width_factor: 0.1}
model:
  input: [28, 28, 1]
  layers:
    - Conv2D: {name: stem, filters: 12, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: {scale: false, center: true}
    - ReLU: {name: relu_1}
    - Conv2D: {name: middle, filters: 24, kernel_size: 6, strides: 2, use_bias: false}
    - BatchNormalization: {scale: false, center: true}
    - ReLU: {name: relu_2}
    - Conv2D: {name: large_k, filters: 32, kernel_size: 6, padding: same, strides: 2, use_bias: false}
    - BatchNormalization: {scale: false, center: true}
    - ReLU: {name: relu_3}
    - GlobalAveragePooling2D:
    - Dense: {name: hidden, units: 256, activation: relu}
    - Dropout: {rate: 0.5}
    - Dense: {name: logits, units: 10}
compile:
  optimizer: {Adam: {learning_rate: 0.001}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 13}
)";

struct Case {
  std::string mesh;
  std::string layouts;  ///< the layout map; "" for none
};

const std::string kSpace = "input/output: [data, height, width, null]";
const std::string kFilters = "(stem|middle|large_k)/kernel: [null, null, null, model]";
const std::string kChannels = "(middle|large_k)/kernel: [null, null, model, null]";
const std::string kDense =
    "hidden/kernel: [null, model], hidden/bias: [model], logits/kernel: [model, null]";

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"data=2", ""},
      {"data=3", ""},
      {"data=4", ""},
      {"data=6", ""},
      {"data=8", ""},
      {"data=1,height=2,width=1", kSpace},
      {"data=1,height=1,width=3", kSpace},
      {"data=1,height=2,width=2", kSpace},
      {"data=2,height=3,width=1", kSpace},
      {"data=2,height=2,width=2", kSpace},
      {"data=1,height=8,width=1", kSpace},
      {"data=1,model=2", kFilters},
      {"data=1,model=3", kChannels + ", " + kDense},
      {"data=2,model=2", kFilters + ", " + kDense},
      {"data=2,model=3", kFilters},
      {"data=2,model=4", kChannels},
      {"data=1,height=2,width=1,model=2", kSpace + ", " + kFilters + ", " + kDense},
      {"data=2,height=1,width=2,model=2", kSpace + ", " + kChannels},
      // One dimension in tiles over two axes; a layer that leaves its tiles again.
      {"data=1,height=2,width=3",
       "input/output: [data, [height, width], null, null], "
       "relu_2/output: [[data, height, width], null, null, null]"},
      {"data=1,height=2,width=2", "relu_1/output: [data, null, [width, height], null]"},
  };
  return kCases;
}

}  // namespace

TEST_CASE("ten steps of the guide's convnet are the same on every mesh and layout") {
  const Trajectory one = train("mesh: {data: 1}\n" + kConvnet, {.steps = 10});
  CHECK(one.losses.back() < one.losses.front());
  for (const Case& c : cases()) {
    CAPTURE(c.mesh);
    CAPTURE(c.layouts);
    const std::string strategy =
        c.layouts.empty() ? "" : "strategy: model_parallel\nlayout_map: {" + c.layouts + "}\n";
    const Trajectory many =
        train("mesh: {data: 1}\n" + strategy + kConvnet, {.mesh = c.mesh, .steps = 10});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
  }
}

TEST_CASE("convolutions in groups train alike in tiles that split their channels, too") {
  const auto text = [](const std::string& layer, int channels, int filters) {
    return fmt::format(R"(
dataset:
  name: tiles
  format: synthetic
  splits: {{train: {{x: {{normal: [8, 8, 8, {0}]}}, y: {{normal: [8, 6, 6, {1}]}}}}}}
model:
  input: [8, 8, {0}]
  layers:
    - Dense: {{name: d, units: {0}}}
    - {2}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 4}}
)",
                       channels, filters, layer);
  };
  const std::string tiles = "batch_axis: []\nlayout_map: {l/output: [null, null, height, model]}\n";
  for (const std::string& model :
       {text("DepthwiseConv2D: {name: l, kernel_size: 3, depth_multiplier: 2}", 4, 8),
        text("Conv2D: {name: l, filters: 8, kernel_size: 3, groups: 4}", 4, 8),
        text("Conv2D: {name: l, filters: 6, kernel_size: 3, groups: 2}", 2, 6)}) {
    CAPTURE(model);
    const Trajectory whole = train(model, {.mesh = "1", .steps = 4});
    const Trajectory split = train(tiles + model, {.mesh = "height=2,model=2", .steps = 4});
    CHECK(loss_difference(whole, split) < 1e-5);
    CHECK(weight_difference(whole, split) < 1e-4);
  }
}
