#include <doctest/doctest.h>

#include "rewrite/program.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string model(const std::string& loss) {
  return R"(
mesh: {data: 1}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [24, 6]}, y: {integers: [24], below: 5}}}
model: {input: [6], layers: [Dense: {units: 7, activation: relu}, Dense: {units: 5}]}
compile: {optimizer: adam, loss: )" +
         loss + R"(, metrics: [accuracy]}
fit: {batch_size: 8}
)";
}

const std::string kOff = "fusion: {crossentropy: false}\n";

}  // namespace

TEST_CASE("softmax with crossentropy is one node forward and one backward") {
  for (const char* arguments : {"from_logits: true", "from_logits: true, ignore_class: 2"}) {
    const std::string text =
        model("{SparseCategoricalCrossentropy: {" + std::string(arguments) + "}}");
    CAPTURE(arguments);
    const Graph fused = rewritten(text);
    CHECK(count(fused, "crossentropy") == 1);
    CHECK(count(fused, "crossentropy_gradient") == 1);
    for (const char* op : {"log_softmax", "take_along_axis", "one_hot", "exp"})
      CHECK(count(fused, op) == 0);
    const Graph plain = rewritten(text + kOff);
    CHECK(count(plain, "crossentropy") == 0);
    CHECK(count(plain, "log_softmax") == 1);

    // The same bits, also where devices have different parts of the batch.
    for (const char* mesh : {"1", "3"}) {
      const Trajectory a = train(text, {.mesh = mesh});
      const Trajectory b = train(text + kOff, {.mesh = mesh});
      CHECK(a.digest == b.digest);
      CHECK(a.losses == b.losses);
    }
  }
}

TEST_CASE("probabilities have no softmax to be computed with the crossentropy") {
  const Graph program = rewritten(model("sparse_categorical_crossentropy"));
  CHECK(count(program, "crossentropy") == 0);
  CHECK(count(program, "take_along_axis") == 1);
}
