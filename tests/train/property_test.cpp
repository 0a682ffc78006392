#include <doctest/doctest.h>

#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

TEST_CASE("random models train alike on one device and on any mesh with any layouts") {
  constexpr std::uint64_t kModels = 240;
  for (std::uint64_t seed = 1; seed <= kModels; ++seed) {
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
