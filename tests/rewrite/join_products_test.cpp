#include <doctest/doctest.h>
#include <fmt/format.h>

#include "program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kOff = "fusion: {join_products: false}\n";

std::string model(const std::string& layer, int batch, const std::string& more = "") {
  return fmt::format(R"(
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [{1}, 7, 5]}}, y: {{normal: [{1}, 2]}}}}}}}}
model: {{input: [7, 5], layers: [{0}, Dense: {{units: 2}}]}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.1}}}}, loss: mse}}
fit: {{batch_size: {1}}}
)",
                     layer, batch) +
         more;
}

/// Products of a step, compiled for a batch of 8.
int products(const std::string& layer, const std::string& more = "") {
  return count(rewritten(model(layer, 8, more)), "einsum");
}

}  // namespace

TEST_CASE("the gradient of a recurrent kernel is one product") {
  // 6 steps forward and backward, and each time one for the input, its kernel, and the head.
  const int others = 6 + 6 + 2 + 3;
  CHECK(products("LSTM: {units: 16}") == others + 1);
  CHECK(products("LSTM: {units: 16}", kOff) == others + 6);
  CHECK(products("GRU: {units: 16}") == others + 1);
  CHECK(products("SimpleRNN: {units: 32}") == others + 1);
  // Factors that are larger than the kernel stay where they are, but for sums of 16 bits.
  CHECK(products("SimpleRNN: {units: 3}") == others + 6);
  CHECK(products("SimpleRNN: {units: 3}", "precision: mixed_bfloat16\n") == others + 1);
}

TEST_CASE("what is joined trains as it did, on any mesh") {
  for (const char* layer :
       {"LSTM: {units: 16, recurrent_dropout: 0.2}", "GRU: {units: 16, reset_after: false}",
        "Bidirectional: {layer: {SimpleRNN: {units: 32}}}"}) {
    CAPTURE(layer);
    const std::string text = model(layer, 6,
                                   "mesh: {data: 1, model: 1}\nstrategy: model_parallel\n"
                                   "layout_map: {'.*recurrent_kernel': [null, model]}\n");
    const Trajectory plain = train(text + kOff, {.steps = 3});
    for (const char* mesh : {"1x1", "2x1", "4x2", "1x3"}) {
      CAPTURE(mesh);
      const Trajectory joined = train(text, {.mesh = mesh, .steps = 3});
      CHECK(loss_difference(plain, joined) < 5e-6);
      CHECK(weight_difference(plain, joined) < 1e-5);
    }
  }
}
