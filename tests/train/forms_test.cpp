// Models of several outputs, of shared and of frozen layers, trained; data split in space.
#include <doctest/doctest.h>

#include <cmath>

#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Two towers that share their weights, two outputs, labels by their names; nothing divides.
const std::string kTwins = R"(
dataset:
  name: t
  format: synthetic
  splits:
    train: {left: {normal: [22, 7]}, right: {normal: [22, 7]}, size: {normal: [22, 3]}, kind: {integers: [22], below: 5}, unused: {normal: [22, 2]}}
blocks:
  tower:
    params: {units: 9, depth: 2}
    layers:
      - Dense: {units: $units, activation: tanh, kernel_layout: [null, model], repeat: $depth}
      - Dropout: {rate: 0.25}
model:
  params: {depth: 2}
  inputs: {left: [7], right: [7]}
  outputs: [size, kind]
  layers:
    - tower: {inputs: left, depth: $depth}
    - use: {layer: tower, inputs: right}
    - Concatenate: {inputs: [tower, tower_1]}
    - Dense: {name: size, units: 3, kernel_layout: [model, null]}
    - Dense: {name: kind, units: 5, inputs: concatenate, output_layout: [null, model]}
compile:
  optimizer: adam
  loss: {size: mse, kind: {SparseCategoricalCrossentropy: {from_logits: true}}}
  loss_weights: {size: 0.5}
  metrics: {kind: accuracy}
fit: {batch_size: 8}
)";

std::string with_mesh(const std::string& text) { return "mesh: {data: 1, model: 1}\n" + text; }

/// d(x) + e(x) with a learning rate of one.
std::string sum_of(const std::string& second) {
  return with_mesh(R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [6, 4]}, y: {normal: [6, 3]}}}}
model:
  input: [4]
  layers:
    - Dense: {name: d, units: 3, use_bias: false}
    - )" + second + R"(
    - Add: {inputs: [d, e]}
compile: {optimizer: {SGD: {learning_rate: 1.0}}, loss: mse}
fit: {batch_size: 6}
)");
}

}  // namespace

TEST_CASE("several outputs and shared towers train alike on every mesh") {
  const Trajectory one = train(with_mesh(kTwins), {.steps = 5});
  CHECK(one.weights.size() == 8);
  CHECK(one.metrics.at("loss") ==
        doctest::Approx(0.5 * one.metrics.at("size_loss") + one.metrics.at("kind_loss")));
  CHECK(one.metrics.contains("kind_accuracy"));
  for (const char* mesh : {"2x2", "3x1", "1x5", "3x2", "5x3"}) {
    CAPTURE(mesh);
    const Trajectory other = train(with_mesh(kTwins), {.mesh = mesh, .steps = 5});
    CHECK(loss_difference(one, other) < 1e-5);
    CHECK(weight_difference(one, other) < 1e-4);
  }
}

TEST_CASE("the gradient of a shared layer is the sum over its uses") {
  const std::string shared = sum_of("use: {layer: d, inputs: input, name: e}");
  const std::string apart = sum_of("Dense: {name: e, units: 3, use_bias: false, inputs: input}");
  const Trajectory start = train(shared, {.steps = 0});
  const auto& initial = start.weights.at("d/kernel");
  const Trajectory twice = train(shared, {.steps = 1});
  const Trajectory each =
      train(apart, {.steps = 1, .initial = {{"d/kernel", initial}, {"e/kernel", initial}}});
  REQUIRE(twice.weights.size() == 1);
  CHECK(twice.losses[0] == doctest::Approx(each.losses[0]));
  for (std::size_t i = 0; i < initial.size(); ++i) {
    const float sum = each.weights.at("d/kernel")[i] + each.weights.at("e/kernel")[i] - initial[i];
    CHECK(twice.weights.at("d/kernel")[i] == doctest::Approx(sum).epsilon(1e-5));
  }
}

TEST_CASE("frozen weights stay as they are, and have no optimizer state") {
  const std::string text = with_mesh(R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [12, 4]}, y: {normal: [12, 3]}}}}
model:
  input: [4]
  freeze: [b/kernel]
  layers:
    - Dense: {name: a, units: 5, trainable: false}
    - Dense: {name: b, units: 5}
    - Dense: {name: c, units: 3}
compile: {optimizer: {AdamW: {learning_rate: 0.1}}, loss: mse}
fit: {batch_size: 6}
)");
  const Trajectory start = train(text, {.steps = 0});
  for (const char* mesh : {"1x1", "2x2"}) {
    const Trajectory end = train(text, {.mesh = mesh, .steps = 3});
    for (const char* path : {"a/kernel", "a/bias", "b/kernel"}) {
      CHECK(end.weights.at(path) == start.weights.at(path));
    }
    for (const char* path : {"b/bias", "c/kernel", "c/bias"}) {
      CHECK(end.weights.at(path) != start.weights.at(path));
    }
  }
  Job job = job_of(text, "");
  add_program(job, ProgramKind::kTrain, 6);
  std::vector<std::string> slots;
  for (const Variable& variable : job.programs.begin()->second.partitioned.graph.variables) {
    if (!variable.slot_of.empty()) slots.push_back(variable.slot_of);
  }
  CHECK(slots ==
        std::vector<std::string>{"b/bias", "b/bias", "c/kernel", "c/kernel", "c/bias", "c/bias"});
}

TEST_CASE("a frozen BatchNormalization runs as in inference, one whose gamma is frozen does not") {
  const auto text = [](const std::string& freeze) {
    return with_mesh(R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [12, 4]}, y: {normal: [12, 3]}}}}
blocks:
  stem: {layers: [Dense: {name: d, units: 5}, BatchNormalization: {name: bn}]}
model:
  input: [4]
  freeze: )" + freeze +
                     R"(
  layers: [stem, Dense: {name: head, units: 3}]
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: mse}
fit: {batch_size: 6}
)");
  };
  const Trajectory start = train(text("[]"), {.steps = 0});
  const Trajectory free = train(text("[]"), {.steps = 2});
  CHECK(free.weights.at("stem/bn/moving_mean") != start.weights.at("stem/bn/moving_mean"));
  for (const char* rule : {"stem/bn", "'stem/bn/.*'", "stem", "'stem.*'"}) {
    CAPTURE(rule);
    const Trajectory frozen = train(text(rule), {.mesh = "2x2", .steps = 2});
    for (const char* name : {"gamma", "beta", "moving_mean", "moving_variance"}) {
      const std::string path = std::string("stem/bn/") + name;
      CHECK(frozen.weights.at(path) == start.weights.at(path));
    }
    // With the statistics it starts with it changes next to nothing; those of a batch do.
    CHECK(std::abs(frozen.losses[0] - free.losses[0]) > 1e-3);
    CHECK(frozen.weights.at("head/kernel") != start.weights.at("head/kernel"));
  }
  const Trajectory gamma = train(text("'.*/gamma'"), {.steps = 2});
  CHECK(gamma.weights.at("stem/bn/gamma") == start.weights.at("stem/bn/gamma"));
  CHECK(gamma.weights.at("stem/bn/beta") != start.weights.at("stem/bn/beta"));
  CHECK(gamma.weights.at("stem/bn/moving_mean") != start.weights.at("stem/bn/moving_mean"));
  CHECK(gamma.losses[0] == free.losses[0]);
}

TEST_CASE("a BatchNormalization that is used twice moves its statistics twice in a step") {
  const auto text = [](const std::string& second) {
    return with_mesh(R"(
dataset: {name: t, format: synthetic, splits: {train: {a: {normal: [9, 4]}, b: {normal: [9, 4]}, y: {normal: [9, 4]}}}}
model:
  inputs: {a: [4], b: [4]}
  layers:
    - BatchNormalization: {name: first, momentum: 0.5, inputs: a}
    - )" + second + R"(
    - Add: {inputs: [first, second]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 9}
)");
  };
  const Trajectory apart =
      train(text("BatchNormalization: {name: second, momentum: 0.5, inputs: b}"), {.steps = 1});
  for (const char* mesh : {"1x1", "3x1"}) {
    const Trajectory shared =
        train(text("use: {layer: first, name: second, inputs: b}"), {.mesh = mesh, .steps = 1});
    CHECK(shared.weights.size() == 4);
    const auto& a = apart.weights.at("first/moving_mean");  // half the mean of the batch
    const auto& b = apart.weights.at("second/moving_mean");
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(shared.weights.at("first/moving_mean")[i] ==
            doctest::Approx(0.5F * a[i] + b[i]).epsilon(1e-4));
    }
  }
}

TEST_CASE("every device reads its tile of the data, and the numbers stay") {
  const std::string text = R"(mesh: {data: 1, height: 1, width: 1}
layout_map: {'image/output': [data, height, width, null], 'd/kernel': [[height, width], null]}
dataset: {name: t, format: synthetic, splits: {train: {image: {normal: [10, 5, 7]}, y: {normal: [10, 3]}}}}
model:
  inputs: {image: [5, 7, 1]}
  layers: [ReLU, Flatten, {Dense: {name: d, units: 3}}]
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 4}
)";
  const Trajectory one = train(text, {.steps = 4});
  for (const char* mesh : {"2x2x2", "1x3x1", "1x1x3", "3x2x1", "1x6x1"}) {
    CAPTURE(mesh);
    const Trajectory other = train(text, {.mesh = mesh, .steps = 4});
    CHECK(loss_difference(one, other) < 1e-5);
    CHECK(weight_difference(one, other) < 1e-4);
  }
}
