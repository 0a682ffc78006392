// AddLoss: what it adds to the loss, and where; trained with it: keras_trajectory_test.cpp
#include <doctest/doctest.h>

#include "backend/backend.h"
#include "model/build.h"
#include "support/errors.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

const std::string kNoLoss = "\ncompile: {optimizer: sgd}\n";

std::string model_of(const std::string& layers, const std::string& rest = kNoLoss) {
  return "model: {input: [2, 2], layers: [" + layers + "]}" + rest;
}

const std::vector<float> kSamples{1, 2, 3, 4, -1, 0.503F, 2, 0, 8, 1, 1, 1};  // sums 10, 1.503, 11
constexpr double kMean = 7.501;

/// Of three samples.
double loss_of(const std::string& text, Mode mode, const std::vector<Field>& label = {}) {
  const Graph graph = build(text, mode, 3, label);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.initialize();
  run.feed("input", host_tensor({3, 2, 2}, kSamples));
  if (!label.empty()) run.feed("y", host_tensor({3, 2, 2}, kSamples));
  run.run();
  for (const NamedValue& output : graph.outputs) {
    if (output.name == "loss") return to_doubles(run.read(output.value)).at(0);
  }
  return -1;
}

}  // namespace

TEST_CASE("AddLoss adds the mean over the samples of what each adds up to") {
  for (const Mode mode : {Mode::kTrain, Mode::kEvaluate}) {
    CHECK(loss_of(model_of("AddLoss"), mode) == doctest::Approx(kMean));
    CHECK(loss_of(model_of("AddLoss: {weight: -2}"), mode) == doctest::Approx(-2 * kMean));
    CHECK(loss_of(model_of("AddLoss, AddLoss: {weight: 0.2}"), mode) ==
          doctest::Approx(1.2 * kMean));
    CHECK(loss_of(model_of("AddLoss: {name: a}, use: {layer: a}"), mode) ==
          doctest::Approx(2 * kMean));
    CHECK(loss_of(model_of("Sum: {axis: [1, 2]}, AddLoss"), mode) == doctest::Approx(kMean));
    CHECK(loss_of(model_of("TimeDistributed: {layer: AddLoss}"), mode) == doctest::Approx(kMean));
    const std::string beside = "\ncompile: {loss: mse}\n";
    CHECK(loss_of(model_of("AddLoss", beside), mode, {{"y", DType::kFloat32, {2, 2}}}) ==
          doctest::Approx(kMean));
  }
}

TEST_CASE("AddLoss gives its input on, with its mask, and is nothing where a model predicts") {
  CHECK(op_names(build(model_of("AddLoss"))) == op_names(build(model_of("Identity"))));
  const std::string masked = "Masking: {mask_value: 1}, AddLoss, GlobalAveragePooling1D";
  const std::string without = "Masking: {mask_value: 1}, GlobalAveragePooling1D";
  CHECK(op_names(build(model_of(masked))) == op_names(build(model_of(without))));
}

TEST_CASE("AddLoss need not be taken by a layer") {
  const std::string aside = "Square: {name: s}, AddLoss, Dense: {units: 2, inputs: input}";
  CHECK(build_error(model_of(aside), Mode::kTrain).empty());
  CHECK(test::contains(build_error(model_of("Square: {name: s}, Dense: {units: 2, inputs: input}")),
                       "no layer takes 's'"));
}

TEST_CASE("AddLoss adds up in float32, whatever the precision") {
  const std::string mixed = "\nprecision: mixed_bfloat16" + kNoLoss;
  CHECK(loss_of(model_of("AddLoss", mixed), Mode::kTrain) == doctest::Approx(kMean).epsilon(1e-6));
}

TEST_CASE("a model without a loss, and what AddLoss cannot be given") {
  const std::string none =
      "compile needs a loss, for nothing in the model adds to it; name one, such as loss: mse, or "
      "put a layer AddLoss behind what is to be small";
  CHECK(build_error(model_of("Dense: {units: 2}"), Mode::kTrain) == "c.yaml:2:10: " + none);
  CHECK(build_error(model_of("Dense: {units: 2}", "\ncompile: {loss: [null]}\n"), Mode::kTrain) ==
        "c.yaml:2:10: " + none);
  CHECK(build_error(model_of("Dense: {units: 2, kernel_regularizer: l2}"), Mode::kTrain).empty());
  CHECK(test::contains(build_error(model_of("AddLoss: {dtype: mixed_bfloat16}")),
                       "layer 'add_loss' (AddLoss): it gives its input on as it is, and adds up in "
                       "float32; leave dtype out"));
  CHECK(test::contains(build_error(model_of("AddLoss: {weight: much}")),
                       "weight must be a number, not 'much'"));
  CHECK(test::contains(build_error(model_of("AddLoss: {wait: 2}")), "nearest: 'weight'"));
}
