// The statistics of batches: far from 0, on meshes, and of a layer that is used twice.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Numbers of the given mean and deviation; the moving statistics are those of the last batch.
std::string normalized(double mean, double deviation) {
  return fmt::format(R"(
mesh: {{data: 1, height: 1}}
layout_map: {{'input/output': [data, height, null, null]}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [256, 6, 5, 3]}}, y: {{normal: [256, 2]}}}}}}}}
model:
  input: [6, 5, 3]
  layers:
    - Rescaling: {{scale: {}, offset: {}}}
    - BatchNormalization: {{name: n, momentum: 0}}
    - GlobalAveragePooling2D:
    - Dense: {{name: d, units: 2}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.1}}}}, loss: mse}}
fit: {{batch_size: 256}}
)",
                     deviation, mean);
}

/// Two branches, each normalized, with a learning rate of one.
std::string branches(const std::string& first, const std::string& second) {
  return fmt::format(R"(
mesh: {{data: 1}}
dataset:
  name: t
  format: synthetic
  splits: {{train: {{a: {{normal: [12, 4]}}, b: {{normal: [12, 4]}}, y: {{normal: [12, 3]}}}}}}
model:
  inputs: {{a: [4], b: [4]}}
  layers:
    - Dense: {{name: d, units: 3, inputs: a}}
    - BatchNormalization: {{name: first, inputs: d{}}}
    - Dense: {{name: e, units: 3, inputs: b}}
    - {}
    - Multiply: {{inputs: [first, second]}}
compile: {{optimizer: {{SGD: {{learning_rate: 1.0}}}}, loss: mse}}
fit: {{batch_size: 12}}
)",
                     first, second);
}

}  // namespace

TEST_CASE("a batch far from 0 has the variance of the same batch around it") {
  const Trajectory near = train(normalized(0, 1), {.steps = 1});
  struct Far {
    double mean, deviation;
  };
  for (const Far far : {Far{-122.2, 0.14}, Far{1000, 1}, Far{10000, 1}}) {
    CAPTURE(far.mean);
    const std::string text = normalized(far.mean, far.deviation);
    const Trajectory one = train(text, {.steps = 1});
    for (const char* mesh : {"1x1", "4x1", "3x2", "1x3"}) {
      CAPTURE(mesh);
      const Trajectory run = train(text, {.mesh = mesh, .steps = 1});
      for (std::size_t c = 0; c < 3; ++c) {
        const double mean = near.weights.at("n/moving_mean")[c];
        const double variance = near.weights.at("n/moving_variance")[c];
        CHECK(run.weights.at("n/moving_mean")[c] ==
              doctest::Approx(far.mean + far.deviation * mean).epsilon(2e-7));
        CHECK(run.weights.at("n/moving_variance")[c] ==
              doctest::Approx(far.deviation * far.deviation * variance).scale(0).epsilon(2e-5));
      }
      // The last digit of a mean of 10000 is a thousandth of the deviation.
      CHECK(loss_difference(one, run) < 1e-5);
      CHECK(weight_difference(one, run) < 1e-2);
    }
  }
}

TEST_CASE("no gradient flows through the moving averages of a layer that is used twice") {
  const auto use = [](const std::string& momentum) {
    return train(branches(momentum, "use: {layer: first, name: second, inputs: e}"), {.steps = 1});
  };
  const Trajectory apart =
      train(branches("", "BatchNormalization: {name: second, inputs: e}"), {.steps = 1});
  const Trajectory usual = use("");
  for (const char* momentum : {", momentum: 0", ", momentum: 0.5"}) {
    CAPTURE(momentum);
    const Trajectory other = use(momentum);
    for (const char* path : {"d/kernel", "d/bias", "e/kernel", "first/gamma", "first/beta"}) {
      CAPTURE(path);
      CHECK(other.weights.at(path) == usual.weights.at(path));
    }
  }
  for (const char* path : {"d/kernel", "e/kernel"}) {
    for (std::size_t i = 0; i < usual.weights.at(path).size(); ++i) {
      CHECK(usual.weights.at(path)[i] == doctest::Approx(apart.weights.at(path)[i]).epsilon(1e-5));
    }
  }
}
