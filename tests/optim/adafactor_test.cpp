#include <doctest/doctest.h>

#include "backend/backend.h"
#include "ops/ops.h"
#include "optim/optimizer.h"
#include "optim/optimizer_text.h"
#include "support/interpreter.h"

using namespace meshwork;
using namespace meshwork::testing;

TEST_CASE("rows and columns without gradients leave their weights as they are") {
  Graph graph;
  GraphBuilder b(graph);
  const TensorType type{DType::kFloat32, {2, 3}};
  const ValueId weight =
      b.add(ops::kVariable, {}, {{"path", "w"}, {"dtype", "float32"}, {"shape", type.shape}});
  graph.variables.push_back({.value = weight,
                             .path = "w",
                             .slot_of = {},
                             .init = &ops::kConstant,
                             .init_attrs = {{"value", 1.0}, {"shape", type.shape}}});
  add_optimizer(b, optimizer("Adafactor: {learning_rate: 0.5}"),
                std::vector<Update>{{weight, ops::input(b, "g", type)}});
  verify(graph);
  REQUIRE(graph.variables.size() == 4);
  CHECK(graph.variables[1].path == "adafactor/w_r");
  CHECK(graph.type(graph.variables[1].value).shape == Shape{2});
  CHECK(graph.variables[2].path == "adafactor/w_c");
  CHECK(graph.type(graph.variables[2].value).shape == Shape{3});
  CHECK(graph.variables[3].path == "adafactor/w_velocity");

  HostTensor iteration = host_tensor({DType::kInt64, {}});
  iteration.as<std::int64_t>()[0] = 0;
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.initialize();
  run.feed("g", host_tensor(type.shape, std::vector<float>{0, 0, 0, 0, 2, 2}));
  run.feed("learning_rate", host_tensor({}, std::vector<float>{0.5F}));
  run.feed("iteration", iteration);
  run.run();
  run.update();
  // r = [0, 8/3], c = [0, 2, 2]: v = [[0, 0, 0], [0, 4, 4]], |g / sqrt(v)| = 1 where g is not 0.
  const double step = 0.5;  // its root mean square, sqrt(1/3), is not clipped
  const std::vector<double> after = to_doubles(run.read("w"));
  const std::vector<double> expected{1, 1, 1, 1, 1 - step, 1 - step};
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == doctest::Approx(expected[i]));
}
