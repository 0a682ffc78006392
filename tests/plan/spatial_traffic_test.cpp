// What convolutional networks send.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "support/sent.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::vector<Sent> exchanges(const Plan& plan, Phase phase) {
  std::vector<Sent> sent = sent_by(plan);
  std::erase_if(sent, [&](const Sent& s) { return s.op != "all_to_all" || s.phase != phase; });
  return sent;
}

/// Whether nothing is sent but halos and all-reduces over the whole mesh.
bool only_halos_and_sums(const Plan& plan) {
  const auto sent = sent_by(plan);
  return std::all_of(sent.begin(), sent.end(),
                     [](const Sent& s) { return s.op == "all_to_all" || s.op == "all_reduce"; });
}

/// Two 3x3 convolutions of stride 1 on images 12 x 8, batch 4; the loss is on the image.
std::string two_convolutions(const std::string& layout) {
  return R"(
mesh: {data: 1, height: 1, width: 1}
strategy: model_parallel
layout_map: {input/output: )" +
         layout + R"(}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [4, 12, 8, 3]}, y: {normal: [4, 12, 8, 6]}}}
model:
  input: [12, 8, 3]
  layers:
    - Conv2D: {name: first, filters: 5, kernel_size: 3, padding: same, activation: relu}
    - Conv2D: {name: second, filters: 6, kernel_size: 3, padding: same}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4}
)";
}

const std::string kConvnet = R"(
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [8, 28, 28, 1]}, y: {integers: [8], below: 10}}}
model:
  input: [28, 28, 1]
  layers:
    - Conv2D: {filters: 12, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: {scale: false}
    - ReLU:
    - Conv2D: {filters: 24, kernel_size: 6, strides: 2, use_bias: false}
    - BatchNormalization: {scale: false}
    - ReLU:
    - GlobalAveragePooling2D:
    - Dense: {units: 10}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8}
)";

}  // namespace

TEST_CASE("a 3x3 convolution of stride 1 sends a row to each neighbour, forward and backward") {
  const std::string text = two_convolutions("[null, height, null, null]");
  for (int device = 0; device < 4; ++device) {
    CAPTURE(device);
    const std::int64_t neighbours = device == 0 || device == 3 ? 1 : 2;
    const Plan plan = training_plan(text, "data=1,height=4,width=1", device);
    CHECK(only_halos_and_sums(plan));
    const auto forward = exchanges(plan, Phase::kForward);
    REQUIRE(forward.size() == 2);
    CHECK(forward[0].elements == neighbours * 4 * 8 * 3);
    CHECK(forward[1].elements == neighbours * 4 * 8 * 5);
    // The first has no gradient of its input; those of the kernels use the halos that are there.
    const auto backward = exchanges(plan, Phase::kBackward);
    REQUIRE(backward.size() == 1);
    CHECK(backward[0].elements == neighbours * 4 * 8 * 6);
    // Two kernels and two biases, once.
    auto sums = tensors(sent_by(plan));
    std::erase_if(sums, [](const Sent& s) { return s.op != "all_reduce"; });
    CHECK(elements(sums) == parameters(plan));
  }
}

TEST_CASE("a column likewise") {
  const std::string text = two_convolutions("[null, null, width, null]");
  for (int device = 0; device < 2; ++device) {
    const Plan plan = training_plan(text, "data=1,height=1,width=2", device);
    CHECK(only_halos_and_sums(plan));
    const auto forward = exchanges(plan, Phase::kForward);
    REQUIRE(forward.size() == 2);
    CHECK(forward[0].elements == 4 * 12 * 3);
    CHECK(forward[1].elements == 4 * 12 * 5);
    const auto backward = exchanges(plan, Phase::kBackward);
    REQUIRE(backward.size() == 1);
    CHECK(backward[0].elements == 4 * 12 * 6);
  }
}

TEST_CASE("tiles along both dimensions send a row, then a column that holds the corners") {
  const std::string text = two_convolutions("[null, height, width, null]");
  for (int device = 0; device < 4; ++device) {
    const Plan plan = training_plan(text, "data=1,height=2,width=2", device);
    CHECK(only_halos_and_sums(plan));
    const auto forward = exchanges(plan, Phase::kForward);
    REQUIRE(forward.size() == 4);
    CHECK(forward[0].elements == 4 * 4 * 3);        // a row of 4 columns
    CHECK(forward[1].elements == 4 * (6 + 1) * 3);  // a column of 6 rows and the corner
    CHECK(forward[2].elements == 4 * 4 * 5);
    CHECK(forward[3].elements == 4 * (6 + 1) * 5);
    CHECK(exchanges(plan, Phase::kBackward).size() == 2);
  }
}

TEST_CASE("a 1x1 convolution and windows that tile the image send nothing") {
  const std::string text = R"(
mesh: {data: 1, height: 1}
strategy: model_parallel
layout_map: {input/output: [null, height, null, null]}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [4, 12, 8, 3]}, y: {normal: [4, 3, 2, 5]}}}
model:
  input: [12, 8, 3]
  layers:
    - Conv2D: {filters: 5, kernel_size: 1}
    - MaxPooling2D: {pool_size: 2}
    - Conv2D: {filters: 5, kernel_size: 2, strides: 2}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4}
)";
  const Plan plan = training_plan(text, "data=1,height=3", 1);
  const auto sent = sent_by(plan);
  CHECK(std::all_of(sent.begin(), sent.end(), [](const Sent& s) { return s.op == "all_reduce"; }));
  CHECK(elements(tensors(sent)) == parameters(plan));
}

TEST_CASE("data parallelism of a convnet: gradients once, three small sums per normalization") {
  const Plan plan = training_plan("mesh: {data: 1}\n" + kConvnet, "data=4", 1);
  const auto sent = sent_by(plan);
  CHECK(std::all_of(sent.begin(), sent.end(), [](const Sent& s) { return s.op == "all_reduce"; }));
  const auto of_normalization = [&](Phase phase) {
    std::vector<Sent> result = tensors(sent);
    std::erase_if(result, [&](const Sent& s) {
      return s.phase != phase || s.path.rfind("batch_normalization", 0) != 0;
    });
    return result;
  };
  // Forward the sum of x, which gives the mean, then what is taken around it: the sums of x, of its
  // distance from there and of the square, 1 and 3 numbers per channel. Backward the sums of the
  // gradient and its product with x, which hold the gradient of beta: 2 numbers, one call.
  const auto forward = of_normalization(Phase::kForward);
  REQUIRE(forward.size() == 4);
  CHECK(elements(forward) == (1 + 3) * (12 + 24));
  const auto backward = of_normalization(Phase::kBackward);
  REQUIRE(backward.size() == 2);
  CHECK(elements(backward) == 2 * (12 + 24));
  // What is left are the gradients of the other weights: two kernels, the last kernel and bias.
  CHECK(elements(tensors(sent)) == 6 * (12 + 24) + 9 * 12 + 36 * 12 * 24 + 24 * 10 + 10);
}
