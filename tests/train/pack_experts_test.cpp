// Hidden units of experts, packed: what all of them give.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string text_of(int experts, int top_k, const std::string& arguments) {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
strategy: model_parallel
layout_map: {{'.*/experts/.*': [model]}}
dataset:
  name: t
  format: synthetic
  splits: {{train: {{x: {{normal: [22, 6, 5]}}, y: {{normal: [22, 6, 5]}}}}}}
model:
  input: [6, 5]
  layers:
    - MixtureOfExperts: {{name: one, intermediate_dim: 7, num_experts: {0}, top_k: {1}{2}}}
    - MixtureOfExperts: {{name: two, intermediate_dim: 3, num_experts: {0}, top_k: {1}{2}}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.1}}}}, loss: mse}}
fit: {{batch_size: 8}}
)",
                     experts, top_k, arguments);
}

void check(const std::string& text, double tolerance = 1e-5) {
  CAPTURE(text);
  const Trajectory whole = train(text + "fusion: {pack_experts: false}\n", {});
  // Experts are gone through in the same order, so that sums are those of all.
  CHECK(train(text, {}).digest == whole.digest);
  for (const char* mesh : {"2x1", "1x2", "1x3", "2x4"}) {
    CAPTURE(mesh);
    const Trajectory packed = train(text, {.mesh = mesh});
    CHECK(loss_difference(packed, whole) < tolerance);
    CHECK(weight_difference(packed, whole) < 10 * tolerance);
  }
}

}  // namespace

TEST_CASE("packed experts train as all of them do, on any mesh") {
  check(text_of(5, 2, ""));
  check(text_of(5, 1, ", activation: sigmoid"));
  check(text_of(7, 3, ", use_gate: false, activation: gelu, norm_top_k_prob: false"));
}

TEST_CASE("packed experts of 16 bits, and those that are computed again") {
  check(text_of(5, 2, "") + "rematerialize: full\n");
  const std::string narrow = "precision: mixed_bfloat16\n" + text_of(5, 2, "");
  CHECK(train(narrow, {}).digest == train(narrow + "fusion: {pack_experts: false}\n", {}).digest);
}
