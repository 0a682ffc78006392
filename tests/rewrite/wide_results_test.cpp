#include <doctest/doctest.h>

#include "rewrite/program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kModel = R"(
precision: mixed_bfloat16
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 6]}, y: {normal: [8, 2]}}}}
model: {input: [6], layers: [Dense: {name: up, units: 4}, Dense: {name: down, units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)";

int count(const Graph& program, std::string_view op, DType dtype) {
  int found = 0;
  for (const Node& node : program.nodes) {
    found += node.op->name == op && node.type.dtype == dtype ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("gradients of weights come in float32 from products of bfloat16") {
  const Graph plain =
      rewritten(job_of(std::string(kModel) + "fusion: {wide_results: false}\n", "1x1"));
  const Graph wide = rewritten(job_of(kModel, "1x1"));
  // y = x w twice and one dx; dw twice, and the sums for the biases
  CHECK(count(plain, "einsum", DType::kBFloat16) == 5);
  CHECK(count(wide, "einsum", DType::kBFloat16) == 3);
  CHECK(count(wide, "einsum", DType::kFloat32) == 2);
  CHECK(count(plain, "reduce_sum", DType::kBFloat16) == 2);
  CHECK(count(wide, "reduce_sum", DType::kBFloat16) == 0);
}

TEST_CASE("what is added up across devices is float32") {
  const std::string layout =
      "layout_map: {up/kernel: [null, model], up/bias: [model], down/kernel: [model, null]}\n"
      "mesh: {data: 1, model: 2}\n";
  const Graph program = rewritten(kModel + layout);
  CHECK(count(program, "all_reduce", DType::kBFloat16) == 0);
  CHECK(count(program, "all_reduce", DType::kFloat32) > 0);
  // What each device has of the second product goes into the sum as it is.
  CHECK(count(program, "einsum", DType::kFloat32) == 3);
}
