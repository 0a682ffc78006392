#include "model/sample_weights.h"

#include <doctest/doctest.h>

#include <cmath>

#include "backend/backend.h"
#include "base/error.h"
#include "config/yaml.h"
#include "model/build.h"
#include "model/metrics/metric.h"
#include "ops/ops.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

config::ClassSpec spec_of(const std::string& text) {
  return config::read_class(config::parse_yaml(text, "c.yaml"), "loss");
}

struct Data {
  HostTensor labels, predictions, weights;
};

/// A program over labels, predictions and weights, run.
template <class Build>
std::vector<double> run(const Data& data, const std::vector<std::string>& outputs, Build build) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId y = ops::input(b, "y", data.labels.type);
  const ValueId p = ops::input(b, "p", data.predictions.type);
  const ValueId w = ops::input(b, "w", data.weights.type);
  build(b, y, p, w);
  verify(graph);
  const auto backend = make_reference_backend();
  Interpreter interpreter(graph, *backend);
  interpreter.feed("y", data.labels);
  interpreter.feed("p", data.predictions);
  interpreter.feed("w", data.weights);
  interpreter.run();
  std::vector<double> values;
  for (const std::string& output : outputs) {
    for (const double value : to_doubles(interpreter.read(output))) values.push_back(value);
  }
  return values;
}

double loss(const std::string& text, const Data& data) {
  return run(data, {"loss"}, [&](GraphBuilder& b, ValueId y, ValueId p, ValueId w) {
    b.graph().outputs.push_back({"loss", add_loss(b, read_loss(spec_of(text)), y, {p}, w)});
  })[0];
}

/// total and count
std::vector<double> metric(const std::string& text, const Data& data) {
  const config::ClassSpec spec = spec_of(text);
  const Metric metric = read_metrics({&spec, 1})[0];
  return run(
      data, {metric.name + "/total", metric.name + "/count"},
      [&](GraphBuilder& b, ValueId y, ValueId p, ValueId w) { add_metric(b, metric, y, {p}, w); });
}

HostTensor floats(const Shape& shape, const std::vector<float>& x) { return host_tensor(shape, x); }

std::vector<double> class_weights(const std::string& given, const HostTensor& labels,
                                  const HostTensor& predictions) {
  const config::Config config =
      config_of("model: {input: [1], layers: [Flatten]}\nfit: {class_weight: " + given + "}\n");
  return run(
      {labels, predictions, floats({1}, {0})}, {"w"},
      [&](GraphBuilder& b, ValueId y, ValueId p, ValueId) {
        b.graph().outputs.push_back({"w", add_sample_weights(b, config, {}, Mode::kTrain, y, p)});
      });
}

std::string class_weight_error(const std::string& given, const HostTensor& labels,
                               const HostTensor& predictions) {
  try {
    class_weights(given, labels, predictions);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a weighted mean divides by the number of values, or by the weights") {
  // Section 13 of the reference.
  const Data data{floats({2, 2}, {0, 1, 0, 0}), floats({2, 2}, {1, 1, 1, 0}), floats({2}, {1, 3})};
  CHECK(loss("mse", data) == doctest::Approx(1.0));
  CHECK(loss("MeanSquaredError: {reduction: mean_with_sample_weight}", data) ==
        doctest::Approx(0.5));
  CHECK(loss("MeanSquaredError: {reduction: sum}", data) == doctest::Approx(2.0));
  Data none = data;
  none.weights = floats({2}, {0, 0});
  CHECK(loss("mse", none) == 0);
  CHECK(loss("MeanSquaredError: {reduction: mean_with_sample_weight}", none) == 0);
}

TEST_CASE("small weights divide, too") {
  const Data data{floats({2, 1}, {0, 0}), floats({2, 1}, {1, 3}), floats({2}, {0.25, 0.125})};
  CHECK(loss("MeanSquaredError: {reduction: mean_with_sample_weight}", data) ==
        doctest::Approx((0.25 + 0.125 * 9) / 0.375));
}

TEST_CASE("a column of weights, and a weight for each of the values of a sample") {
  const Data column{floats({2, 2}, {0, 1, 0, 0}), floats({2, 2}, {1, 1, 1, 0}),
                    floats({2, 1}, {1, 3})};
  CHECK(loss("mse", column) == doctest::Approx(1.0));
  // Values of shape [2, 2]: 1 and 4, 9 and 16.
  Data steps{floats({2, 2, 1}, {0, 0, 0, 0}), floats({2, 2, 1}, {1, 2, 3, 4}),
             floats({2, 2}, {1, 0, 2, 0})};
  CHECK(loss("mse", steps) == doctest::Approx((1 + 18) / 4.0));
  steps.weights = floats({2}, {1, 10});
  CHECK(loss("mse", steps) == doctest::Approx((1 + 4 + 90 + 160) / 4.0));
  CHECK(metric("mse", steps) == std::vector<double>{2.5 + 125, 11});
  steps.weights = floats({3}, {1, 1, 1});
  CHECK_THROWS_WITH(
      loss("mse", steps),
      "c.yaml:1:1: loss mse: sample weights of shape [3] do not fit its values of shape [2, 2]; "
      "give one per sample");
}

TEST_CASE("weights of samples and a loss of the whole batch are an error") {
  const Data data{floats({2, 2}, {0, 1, 0, 0}), floats({2, 2}, {1, 1, 1, 0}), floats({2}, {1, 3})};
  CHECK_THROWS_WITH(
      loss("Dice", data),
      "c.yaml:1:1: loss Dice gives one value for the whole batch, and sample weights weigh its "
      "samples; give it 'axis: 1' for a value of each, or leave the weights out");
  CHECK_NOTHROW(loss("Dice: {axis: 1}", data));
}

TEST_CASE("a weight of each sample goes with a mask of its steps") {
  // Labels of 0 are hidden; errors of the others: 1 and 4, 16.
  const Data data{floats({2, 2, 1}, {1, 1, 0, 1}), floats({2, 2, 1}, {2, 3, 9, 5}),
                  floats({2}, {1, 10})};
  const config::ClassSpec mse = spec_of("mse");
  const auto results = run(data, {"loss", "mse/total", "mse/count"},
                           [&](GraphBuilder& b, ValueId y, ValueId p, ValueId w) {
                             const ValueId mask = ops::reshape(b, y, {2, 2});
                             const ValueId loss = add_loss(b, read_loss(mse), y, {p, mask}, w);
                             b.graph().outputs.push_back({"loss", loss});
                             add_metric(b, read_metrics({&mse, 1})[0], y, {p, mask}, w);
                           });
  CHECK(results[0] == doctest::Approx((1 + 4 + 160) / 3.0));
  CHECK(results[1] == 165 / 2.0);
  CHECK(results[2] == 12 / 2.0);
}

TEST_CASE("what a loss ignores has no weight") {
  const Data data{host_tensor({3}, std::vector<std::int32_t>{0, 1, 1}),
                  floats({3, 2}, {.5, .5, .25, .75, .5, .5}), floats({3}, {4, 2, 6})};
  const std::string ignoring = "SparseCategoricalCrossentropy: {ignore_class: 0";
  const double first = 2 * -std::log(.75);
  const double second = 6 * -std::log(.5);
  CHECK(loss(ignoring + "}", data) == doctest::Approx((first + second) / 2));
  CHECK(loss(ignoring + ", reduction: mean_with_sample_weight}", data) ==
        doctest::Approx((first + second) / 8));
  const std::vector<double> found = metric(ignoring + "}", data);
  CHECK(found[0] == doctest::Approx(first + second));
  CHECK(found[1] == 8);
}

TEST_CASE("a weighted metric counts the weights") {
  const Data data{host_tensor({3}, std::vector<std::int32_t>{0, 1, 1}),
                  floats({3, 2}, {1, 0, 1, 0, 0, 1}), floats({3}, {0.5, 2, 4})};
  CHECK(metric("accuracy", data) == std::vector<double>{4.5, 6.5});
}

TEST_CASE("weights follow the class, sparse, in a column, one-hot or binary") {
  const HostTensor three = floats({3, 4}, std::vector<float>(12, 0));
  const std::vector<double> expected{2.5, 1, 0.5};
  const std::string given = "{0: 0.5, 3: 2.5}";
  CHECK(class_weights(given, host_tensor({3}, std::vector<std::int32_t>{3, 1, 0}), three) ==
        expected);
  CHECK(class_weights(given, host_tensor({3, 1}, std::vector<std::int32_t>{3, 1, 0}), three) ==
        expected);
  CHECK(class_weights(given, floats({3}, {2.9F, 1.2F, 0.1F}), three) == expected);
  CHECK(class_weights(given, floats({3, 4}, {0, 0, 0, 1, 0, 1, 0, 0, .4F, .3F, .3F, 0}), three) ==
        expected);
  // Between two classes the even one, as in Keras 3.15.
  CHECK(class_weights("{0: 1.5, 1: 2, 2: 3, 3: 5}",
                      floats({7}, {.5F, 1.5F, 2.5F, .49999997F, 2.6F, -.5F, 1.2F}),
                      floats({7, 4}, std::vector<float>(28, 0))) ==
        std::vector<double>{1.5, 3, 3, 1.5, 5, 1.5, 2});
  const HostTensor one = floats({2, 1}, {0, 0});
  CHECK(class_weights("{1: 7}", host_tensor({2}, std::vector<std::int32_t>{1, 0}), one) ==
        std::vector<double>{7, 1});
}

TEST_CASE("class weights that cannot be") {
  const HostTensor sparse = host_tensor({3}, std::vector<std::int32_t>{3, 1, 0});
  const HostTensor three = floats({3, 4}, std::vector<float>(12, 0));
  const std::string at = "c.yaml:2:21: class_weight ";
  CHECK(class_weight_error("{4: 2}", sparse, three) ==
        at + "names class 4, but the classes are 0 to 3");
  CHECK(class_weight_error("{-1: 2}", three, three) ==
        at + "names class -1, but the classes are 0 to 3");
  CHECK(class_weight_error("{1: 2}", floats({1, 2, 2}, {0, 0, 0, 0}), three) ==
        at + "needs one class per sample, but the labels have shape [1, 2, 2]");
}

TEST_CASE("weights of samples come from the data or from classes, not from both") {
  const auto weights = [](const std::string& fit, Mode mode, bool has_field) {
    const config::Config config =
        config_of("model: {input: [1], layers: [Flatten]}\nfit: {" + fit + "}\n");
    Graph graph;
    GraphBuilder b(graph);
    Signature signature;
    if (has_field) signature.sample_weight = Field{"sample_weight", DType::kFloat32, {}};
    const ValueId y = ops::input(b, "y", {DType::kInt32, {4}});
    const ValueId p = ops::input(b, "p", {DType::kFloat32, {4, 3}});
    return add_sample_weights(b, config, signature, mode, y, p) != kNoValue;
  };
  const std::string classes = "class_weight: {1: 2.0}";
  CHECK_FALSE(weights("", Mode::kTrain, false));
  CHECK_FALSE(weights("class_weight: {}", Mode::kTrain, false));
  CHECK(weights(classes, Mode::kTrain, false));
  CHECK_FALSE(weights(classes, Mode::kEvaluate, false));
  CHECK(weights("", Mode::kTrain, true));
  CHECK(weights("", Mode::kEvaluate, true));
  CHECK_THROWS_WITH(weights(classes, Mode::kEvaluate, true),
                    "c.yaml:2:21: class_weight cannot be used with a dataset that has a field "
                    "'sample_weight'; keep one");
}

TEST_CASE("a weighted metric that another is called like gets a prefix") {
  const auto names = [](const std::string& metrics) {
    std::string text;
    const config::Config config = config_of(
        "model: {input: [1], layers: [Flatten]}\ncompile: {loss: mse, " + metrics + "}\n");
    for (const LoggedValue& value : logged_values(config)) {
      text += value.name + (value.greater_is_better ? "+ " : "- ");
    }
    return text;
  };
  CHECK(names("metrics: [accuracy, mae]") == "loss- accuracy+ mae- ");
  CHECK(names("metrics: [mae], weighted_metrics: [mae, acc]") == "loss- mae- weighted_mae- acc+ ");
  CHECK(names("weighted_metrics: acc") == "loss- acc+ ");
  CHECK_THROWS_WITH(names("weighted_metrics: [acc, acc]"),
                    "c.yaml:2:46: metric acc: 'acc' is logged for what stands at c.yaml:2:41 "
                    "already; give it another 'name'");
}
