#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "support/random_model.h"
#include "support/random_target.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// MESHWORK_TEST_MODELS, for builds in which each model takes long.
std::uint64_t models_to_try(std::uint64_t usual) {
  const char* given = std::getenv("MESHWORK_TEST_MODELS");
  return given == nullptr ? usual : std::stoull(given);
}

/// Trains the model of each seed on one device and on its mesh.
void check_models(RandomModel (*make)(std::uint64_t seed), std::uint64_t models) {
  REQUIRE(models > 0);
  for (std::uint64_t seed = 1; seed <= models; ++seed) {
    const RandomModel model = make(seed);
    CAPTURE(seed);
    CAPTURE(model.mesh);
    CAPTURE(model.layouts + model.text);
    const Trajectory one = train("mesh: {data: 1, model: 1}\n" + model.text, {.steps = 3});
    TrainOptions options{.mesh = model.mesh, .steps = 3};
    if (seed % 2 == 0) options.adapt = random_target(seed);
    const Trajectory many = train(model.layouts + "mesh: {data: 1}\n" + model.text, options);
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
    CHECK(one.metrics.size() == many.metrics.size());
  }
}

}  // namespace

TEST_CASE("random models train alike on one device and on any mesh with any layouts") {
  check_models(random_model, models_to_try(240));
}

TEST_CASE("random convolutional networks train alike, in tiles of space or any other layout") {
  check_models(random_convnet, models_to_try(320));
}

TEST_CASE("random transformers train alike, whatever of them is split") {
  check_models(random_transformer, models_to_try(120));
}

TEST_CASE("random recurrent networks train alike, whatever of them is split") {
  check_models(random_recurrent, models_to_try(120));
}

TEST_CASE("large kernels train alike where a device has one column of them, or none") {
  const std::string text = R"(
layout_map: {d/kernel: [null, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [6, 40000]}, y: {normal: [6, 3]}}}}
model: {input: [40000], layers: [Dense: {name: d, units: 3}]}
compile: {optimizer: {SGD: {learning_rate: 0.0001, momentum: 0.9}}, loss: mse}
fit: {batch_size: 3}
)";
  const Trajectory one = train("mesh: {data: 1, model: 1}\n" + text, {.steps = 2});
  for (const char* mesh : {"data=1,model=2", "data=1,model=3", "data=1,model=4"}) {
    CAPTURE(mesh);
    const Trajectory many = train("mesh: {data: 1, model: 1}\n" + text, {.mesh = mesh, .steps = 2});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-5);
  }
}
