#include "model/model.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "model/build.h"
#include "model/input_fields.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

const char* const kClassifier = R"(
model:
  input: [28, 28, 1]
  layers:
    - Flatten
    - Dense: {name: d1, units: 20, activation: relu}
    - Dense: {name: d2, units: 10}
compile:
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy, {SparseTopKCategoricalAccuracy: {k: 3, name: top3}}]
)";
const Field kDigit{"y", DType::kUInt8, {}};

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const NamedValue& output : graph.outputs) names.push_back(output.name);
  return names;
}

/// The Error of building kClassifier for other data.
std::string data_error(const Field& x, const std::optional<Field>& y, Mode mode) {
  try {
    build_model(config_of(kClassifier), {{x}, y}, mode, 4);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// The Error of a loss for predictions of `units` and labels of `label`.
std::string loss_error(const std::string& loss, int units, const Shape& label) {
  return build_error("model: {input: [3], layers: [Dense: {units: " + std::to_string(units) +
                         "}]}\ncompile: {loss: " + loss + "}\n",
                     Mode::kTrain, {{"y", DType::kInt32, label}});
}

}  // namespace

TEST_CASE("outputs by mode") {
  using Names = std::vector<std::string>;
  const Names scored = {"loss", "accuracy/total", "accuracy/count", "top3/total", "top3/count"};
  CHECK(output_names(build(kClassifier, Mode::kTrain, 4, {kDigit})) == scored);
  CHECK(output_names(build(kClassifier, Mode::kEvaluate, 4, {kDigit})) == scored);
  const Graph predict = build(kClassifier, Mode::kPredict);
  CHECK(output_names(predict) == Names{"prediction"});
  CHECK(predict.type(predict.outputs[0].value) == TensorType{DType::kFloat32, {4, 10}});
}

TEST_CASE("loss and metric outputs are scalars; labels and predictions are named") {
  const Graph graph = build(kClassifier, Mode::kTrain, 4, {kDigit});
  for (const NamedValue& output : graph.outputs) {
    CHECK(graph.type(output.value) == TensorType{DType::kFloat32, {}});
  }
  std::vector<std::string> names;
  for (const NamedValue& output : graph.layer_outputs) names.push_back(output.name);
  CHECK(names == std::vector<std::string>{"input/output", "flatten/output", "d1/output",
                                          "d2/output", "prediction"});
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{"d1/kernel", "d1/bias", "d2/kernel", "d2/bias"});
}

TEST_CASE("data of another dtype, and with or without a last dimension of one, is accepted") {
  for (const Shape& shape : {Shape{28, 28}, Shape{28, 28, 1}}) {
    const Graph graph = build_model(config_of(kClassifier), {{{"x", DType::kUInt8, shape}}, kDigit},
                                    Mode::kTrain, 5);
    verify(graph);
    CHECK(graph.nodes[0].op == &ops::kInput);
    CHECK(graph.nodes[0].attrs.text("name") == "x");
    CHECK(graph.nodes[0].type.dtype == DType::kUInt8);
    CHECK(graph.nodes[0].type.shape.size() == shape.size() + 1);
  }
}

TEST_CASE("data that does not fit the model") {
  CHECK(data_error({"x", DType::kUInt8, {32, 32, 3}}, kDigit, Mode::kTrain) ==
        "c.yaml:3:10: input 'input' is [28, 28, 1], but samples of 'x' in the dataset are "
        "[32, 32, 3]; write input: [32, 32, 3]");
  CHECK(data_error({"x", DType::kUInt8, {28, 28}}, std::nullopt, Mode::kTrain) ==
        "c.yaml:9:10: loss SparseCategoricalCrossentropy needs labels, and the dataset gives none");
  CHECK(data_error({"x", DType::kUInt8, {28, 28}}, std::nullopt, Mode::kPredict).empty());
  CHECK(build_error("model: {input: [3], layers: [Flatten]}", Mode::kTrain,
                    {{"x", DType::kUInt8, {3}}}) ==
        "c.yaml:1:8: nothing says what to train for; add the key 'compile' with a loss");
}

TEST_CASE("several inputs go by name") {
  const std::string text = R"(
model:
  inputs: {left: [3], right: [5]}
  layers:
    - Dense: {name: a, units: 2, inputs: left}
    - Dense: {name: b, units: 2, inputs: right}
    - Add: {inputs: [a, b]}
)";
  const config::Config config = config_of(text);
  const Graph graph =
      build_model(config, {{{"right", DType::kFloat32, {5}}, {"left", DType::kFloat32, {3}}}, {}},
                  Mode::kPredict, 2);
  verify(graph);
  CHECK(graph.type(graph.variables[2].value).shape == Shape{5, 2});
  CHECK_THROWS_WITH_AS(
      build_model(config, {{{"lift", DType::kFloat32, {3}}, {"right", DType::kFloat32, {5}}}, {}},
                  Mode::kPredict, 2),
      "c.yaml:3:12: input 'left': the dataset gives no such field; nearest: 'lift'", Error);
}

TEST_CASE("an only input takes the only field that can be meant") {
  const config::Config config = config_of("model: {input: [3], layers: [Flatten]}");
  const config::InputSpec& input = config.model.inputs.front();
  const std::vector<std::string> labels{"digit"};
  const auto taken = [&](const std::vector<std::string>& fields) {
    return field_for(input, config.model, fields, labels).value_or("none");
  };
  CHECK(taken({"left", input.name, "y"}) == input.name);
  CHECK(taken({"image", "y", "sample_weight"}) == "image");
  CHECK(taken({"digit", "image", "segments", "positions"}) == "image");
  CHECK(taken({"digit", "y"}) == "digit");
  CHECK(taken({"left", "right"}) == "none");
  CHECK(taken({"y"}) == "none");
}

TEST_CASE("a layer or input that nobody takes is an error") {
  CHECK(build_error(R"(
model:
  input: [3]
  layers:
    - Dense: {name: a, units: 2}
    - Dense: {name: b, units: 2, inputs: input}
)") == "c.yaml:5:7: no layer takes 'a'; name it in the 'inputs' of a later one, or remove it");
  CHECK(build_error(
            "blocks:\n  b: {layers: [{Dense: {name: x, units: 2}}, {ReLU: {inputs: input}}]}\n"
            "model:\n  input: [4]\n  layers: [b]\n") ==
        "c.yaml:2:17: no layer takes 'b/x'; name it in the 'inputs' of a later one, or remove it "
        "(in block 'b', used at c.yaml:5:12)");
  CHECK(build_error("model: {input: [4], layers: [Dense: {name: d, units: 2}], outputs: input}") ==
        "c.yaml:1:30: no layer takes 'd'; name it in the 'inputs' of a later one, or remove it");
  CHECK(build_error("model: {inputs: {a: [4], b: [4]}, layers: [ReLU: {inputs: a}]}") ==
        "c.yaml:1:26: no layer takes 'b'; name it in the 'inputs' of a later one, or remove it");
}

TEST_CASE("losses and labels that do not go together name the way out") {
  const std::string at = "c.yaml:2:17: loss ";
  CHECK(loss_error("sparse_categorical_crossentropy", 10, {10}) ==
        at + "sparse_categorical_crossentropy: labels are [10] per sample, predictions [10]; it "
             "wants one class number per sample; for one-hot labels take CategoricalCrossentropy "
             "and categorical_accuracy");
  CHECK(loss_error("categorical_crossentropy", 10, {}) ==
        at + "categorical_crossentropy: labels are [] per sample, predictions [10]; it wants "
             "one-hot labels; for class numbers take SparseCategoricalCrossentropy and "
             "sparse_categorical_accuracy");
  CHECK(loss_error("categorical_crossentropy", 1, {}) ==
        at + "categorical_crossentropy: labels are [] per sample, predictions [1]; it wants "
             "one-hot labels; for one probability per sample take BinaryCrossentropy and "
             "binary_accuracy");
  CHECK(loss_error("categorical_crossentropy", 10, {8}) ==
        at + "categorical_crossentropy: labels are [8] per sample, predictions [10]; give the "
             "last layer 8 units");
  CHECK(loss_error("sparse_categorical_crossentropy", 1, {}) ==
        at + "sparse_categorical_crossentropy: labels are [] per sample, predictions [1]; give "
             "the last layer one unit per class, or take BinaryCrossentropy and binary_accuracy");
  CHECK(loss_error("mse", 1, {3}) ==
        at + "mse: labels are [3] per sample, predictions [1]; give the last layer 3 units");
  CHECK(loss_error("mse", 2, {}) ==
        at + "mse: labels are [] per sample, predictions [2]; give the last layer 1 unit");
  CHECK(loss_error("mse", 1, {}).empty());
  CHECK(loss_error("mse", 1, {1}).empty());
  CHECK(loss_error("sparse_categorical_crossentropy", 10, {1}).empty());
  CHECK(loss_error("crossentropy", 10, {10}).empty());
  CHECK(loss_error("crossentropy", 1, {}).empty());
}

TEST_CASE("loss and metrics are checked without data") {
  const auto check = [](const std::string& compile) -> std::string {
    try {
      check_compile(config_of("model: {input: [3], layers: [Flatten]}\ncompile: " + compile));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(check("{loss: mse, metrics: [acc, mae, BinaryAccuracy]}").empty());
  CHECK(check("{loss: MeanSquareError}") ==
        "c.yaml:2:17: there is no loss 'MeanSquareError'; nearest: 'MeanSquaredError', "
        "'mean_squared_error'");
  CHECK(check("{loss: mse, metrics: [acuracy]}") ==
        "c.yaml:2:32: there is no metric 'acuracy'; nearest: 'accuracy', 'Accuracy'");
  CHECK(check("{loss: {Huber: {detla: 2}}}") ==
        "c.yaml:2:26: loss Huber has no key 'detla'; nearest: 'delta'");
  CHECK(check("{loss: {Huber: {reduction: none}}}") ==
        "c.yaml:2:25: loss Huber: reduction 'none' gives no single number; give 'sum' or one of "
        "'sum_over_batch_size', 'mean', 'mean_with_sample_weight'");
  CHECK(check("{loss: mse, metrics: [mae, {MeanAbsoluteError: {name: mae}}]}") ==
        "c.yaml:2:38: metric MeanAbsoluteError: 'mae' is logged for what stands at c.yaml:2:32 "
        "already; give it another 'name'");
  CHECK(check("{loss: mse, metrics: [{mae: {name: loss}}]}") ==
        "c.yaml:2:33: metric mae: the name 'loss' is taken; give it another 'name'");
  CHECK(check("{loss: null}") ==
        "c.yaml:2:10: compile needs a loss, for nothing in the model adds to it; name one, such as "
        "loss: mse, or put a layer AddLoss behind what is to be small");
}

TEST_CASE("metrics are logged under the string given, or the name of the class") {
  const Graph graph = build(R"(
model: {input: [3], layers: [Dense: {units: 2}]}
compile: {loss: mse, metrics: [mse, {MeanAbsoluteError: {}}, MAE, CategoricalAccuracy, acc]}
)",
                            Mode::kEvaluate, 4, {{"y", DType::kFloat32, {2}}});
  const std::vector<std::string> expected = {"mse", "mean_absolute_error", "MAE",
                                             "CategoricalAccuracy", "acc"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(graph.outputs[1 + 2 * i].name == expected[i] + "/total");
    CHECK(graph.outputs[2 + 2 * i].name == expected[i] + "/count");
  }
}
