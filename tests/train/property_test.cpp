#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// MESHWORK_TEST_MODELS, for builds in which each model takes long.
std::uint64_t models_to_try() {
  const char* given = std::getenv("MESHWORK_TEST_MODELS");
  return given == nullptr ? 240 : std::stoull(given);
}

}  // namespace

TEST_CASE("random models train alike on one device and on any mesh with any layouts") {
  const std::uint64_t models = models_to_try();
  REQUIRE(models > 0);
  for (std::uint64_t seed = 1; seed <= models; ++seed) {
    const RandomModel model = random_model(seed);
    CAPTURE(seed);
    CAPTURE(model.mesh);
    CAPTURE(model.layouts + model.text);
    const Trajectory one = train("mesh: {data: 1, model: 1}\n" + model.text, {.steps = 3});
    const Trajectory many =
        train(model.layouts + "mesh: {data: 1}\n" + model.text, {.mesh = model.mesh, .steps = 3});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
    CHECK(one.metrics.size() == many.metrics.size());
  }
}
