#include <doctest/doctest.h>

#include "rewrite/program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kModel = R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 3]}, y: {normal: [8, 2]}}}}
model: {input: [3], layers: [Dense: {units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)";

}  // namespace

TEST_CASE("what is computed of constants is a constant") {
  // The gradient of a mean, 1 / 8, is spread over the batch and multiplied by 1 / 2 for two units.
  const Graph plain = rewritten(std::string(kModel) + "fusion: {fold_constants: false}\n");
  const Graph folded = rewritten(kModel);
  CHECK(count(plain, "broadcast_to") > 0);
  CHECK(count(folded, "broadcast_to") == 0);
  bool found = false;
  for (const Node& node : folded.nodes) {
    if (node.op->name != "constant" || node.type.shape != Shape{8, 2}) continue;
    found = true;
    CHECK(node.attrs.real("value") == 1.0 / 16);
  }
  CHECK(found);
}

TEST_CASE("fusions that nobody knows are errors") {
  CHECK_THROWS_WITH(rewritten(std::string(kModel) + "fusion: {elementwize: false}\n"),
                    doctest::Contains("fusion: there is no 'elementwize'; nearest: 'elementwise'"));
}
