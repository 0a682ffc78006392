// Numbers of losses and metrics
#include <doctest/doctest.h>

#include <cmath>

#include "backend/backend.h"
#include "base/error.h"
#include "config/yaml.h"
#include "model/losses/loss.h"
#include "model/metrics/metric.h"
#include "ops/ops.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

struct Data {
  HostTensor labels;
  HostTensor predictions;
};

config::ClassSpec spec_of(const std::string& text) {
  return config::read_class(config::parse_yaml(text, "c.yaml"), "loss");
}

double loss(const std::string& text, const Data& data) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId y = ops::input(b, "y", data.labels.type);
  const ValueId p = ops::input(b, "p", data.predictions.type);
  graph.outputs.push_back({"loss", add_loss(b, read_loss(spec_of(text)), y, {p})});
  verify(graph);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.feed("y", data.labels);
  run.feed("p", data.predictions);
  run.run();
  return to_doubles(run.read("loss"))[0];
}

struct Score {
  double total = 0;
  double count = 0;
  bool operator==(const Score&) const = default;
};

/// `weights`, `mask`: of the positions of the predictions, if they have any.
Score metric(const std::string& text, const Data& data, const HostTensor& weights = {},
             const HostTensor& mask = {}) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId y = ops::input(b, "y", data.labels.type);
  const ValueId p = ops::input(b, "p", data.predictions.type);
  const auto optional = [&](const char* name, const HostTensor& x) {
    return x.type.shape.empty() ? kNoValue : ops::input(b, name, x.type);
  };
  const ValueId w = optional("w", weights);
  const ValueId m = optional("m", mask);
  const config::ClassSpec spec = spec_of(text);
  const std::vector<Metric> metrics = read_metrics({&spec, 1});
  add_metric(b, metrics[0], y, {p, m}, w);
  verify(graph);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.feed("y", data.labels);
  run.feed("p", data.predictions);
  if (w != kNoValue) run.feed("w", weights);
  if (m != kNoValue) run.feed("m", mask);
  run.run();
  return {to_doubles(run.read(metrics[0].name + "/total"))[0],
          to_doubles(run.read(metrics[0].name + "/count"))[0]};
}

HostTensor floats(const Shape& shape, const std::vector<float>& x) { return host_tensor(shape, x); }
HostTensor ints(const Shape& shape, const std::vector<std::int32_t>& x) {
  return host_tensor(shape, x);
}

void check_loss(const std::string& text, const Data& data, double expected) {
  INFO(text);
  CHECK(loss(text, data) == doctest::Approx(expected).epsilon(2e-6));
}

const HostTensor kThree = floats({2, 3}, {.05F, .95F, 0, .1F, .8F, .1F});
const Data kOneHot = {floats({2, 3}, {0, 1, 0, 0, 0, 1}), kThree};
const Data kSparse = {ints({2}, {1, 2}), kThree};
const Data kBinary = {floats({2, 1}, {0, 1}), floats({2, 1}, {.3F, 1})};
const Data kSquares = {floats({2, 2}, {0, 1, 0, 0}), floats({2, 2}, {1, 1, 3, 0})};

}  // namespace

TEST_CASE("golden numbers of Keras's losses") {
  check_loss("categorical_crossentropy", kOneHot, 1.17693925);
  check_loss("CategoricalCrossentropy: {label_smoothing: 0.1}", kOneHot, 1.45913589);
  check_loss("sparse_categorical_crossentropy", kSparse, 1.17693925);
  check_loss("SparseCategoricalCrossentropy: {ignore_class: 2}", kSparse, 0.05129331);
  check_loss("binary_crossentropy", kBinary, .17833753);
  check_loss("BinaryCrossentropy: {from_logits: true}", kBinary, .58380842);
  check_loss("CategoricalGeneralizedCrossEntropy", kSparse, .70909214);
  check_loss("CategoricalGeneralizedCrossEntropy: {q: 0.25}", {ints({2}, {1, 7}), kThree},
             2.0254837);
  check_loss("crossentropy", kSparse, 1.17693925);
  check_loss("ce", kOneHot, 1.17693925);
}

TEST_CASE("Circle counts samples that have others of their class and of another") {
  const HostTensor corners = floats({3, 2}, {1, 0, 0, 1, 0.6F, 0.8F});
  check_loss("circle", {ints({3}, {0, 1, 2}), corners}, 0);
  check_loss("Circle: {gamma: 2}", {ints({3}, {0, 1, 1}), corners}, 0.6140947);
  CHECK_THROWS_WITH_AS(loss("circle", {ints({1, 2}, {0, 1}), floats({1, 2, 2}, {1, 0, 0, 1})}),
                       "c.yaml:1:1: loss circle: it is for embeddings [units] of each sample; put "
                       "a Flatten before it",
                       Error);
}

TEST_CASE("reductions") {
  // Per sample: 0.5 and 4.5
  check_loss("mse", kSquares, 2.5);
  check_loss("MeanSquaredError: {reduction: sum}", kSquares, 5.0);
  check_loss("MeanSquaredError: {reduction: mean_with_sample_weight}", kSquares, 2.5);
  check_loss("mae", kSquares, 1.0);
  // 0.5 and 2.5 over two elements each
  check_loss("huber", kSquares, 0.75);
  check_loss("Huber: {delta: 2}", kSquares, (0.25 + 2.0) / 2);
}

TEST_CASE("nothing valid gives a loss of zero, a label that is no class, too") {
  CHECK(loss("SparseCategoricalCrossentropy: {ignore_class: 2}", {ints({2}, {2, 2}), kThree}) == 0);
  const double one = loss("sparse_categorical_crossentropy", {ints({2}, {1, 3}), kThree});
  CHECK(one == doctest::Approx(0.05129331 / 2));
}

TEST_CASE("logits far out stay finite") {
  const Data far = {floats({2, 1}, {0, 1}), floats({2, 1}, {200, 200})};
  check_loss("BinaryCrossentropy: {from_logits: true}", far, 100);
  check_loss("SparseCategoricalCrossentropy: {from_logits: true}",
             {ints({1}, {0}), floats({1, 2}, {-500, 500})}, 1000);
}

TEST_CASE("ranks that differ by one are matched") {
  const HostTensor column = floats({3, 1}, {1, 2, 4});
  check_loss("mse", {floats({3}, {1, 1, 1}), column}, 10.0 / 3);
  check_loss("mse", {column, floats({3}, {1, 1, 1})}, 10.0 / 3);
  check_loss("mse", {floats({3}, {1, 2, 2}), floats({3}, {1, 2, 4})}, 4.0 / 3);
  check_loss("sparse_categorical_crossentropy", {ints({2, 1}, {1, 2}), kThree}, 1.17693925);
}

TEST_CASE("accuracy is chosen by shapes") {
  CHECK(metric("accuracy", kSparse) == Score{1, 2});
  CHECK(metric("accuracy", kOneHot) == Score{1, 2});
  CHECK(metric("acc", kBinary) == Score{2, 2});
  CHECK(metric("accuracy", {ints({2, 1}, {1, 1}), kThree}) == Score{2, 2});
  CHECK(metric("acc", kSparse) == Score{1, 2});
  CHECK(metric("Accuracy", kSparse) == Score{1, 2});
}

TEST_CASE("the class Accuracy counts equal numbers, whatever the shapes") {
  CHECK(metric("Accuracy: {}", kBinary) == Score{1, 2});
  CHECK(metric("Accuracy: {name: exact}", kBinary) == Score{1, 2});
  CHECK(metric("Accuracy: {}", {floats({2}, {1, 2}), floats({2, 1}, {1, 3})}) == Score{1, 2});
  CHECK(metric("Accuracy: {}", {ints({3, 1}, {4, 0, 7}), floats({3, 1}, {4, .25F, 7})}) ==
        Score{2, 3});
  // Two of four numbers in one sample, three of four in the other.
  CHECK(metric("Accuracy: {}", {floats({2, 4}, {0, 1, 2, 3, 0, 1, 2, 3}),
                                floats({2, 4}, {0, 1, 0, 0, 0, 1, 2, 0})}) == Score{1.25, 2});
}

TEST_CASE("accuracies") {
  CHECK(metric("sparse_categorical_accuracy", kSparse) == Score{1, 2});
  CHECK(metric("categorical_accuracy", kOneHot) == Score{1, 2});
  CHECK(metric("BinaryAccuracy: {threshold: 0.2}", kBinary) == Score{1, 2});
  // Strictly greater: a prediction of just the threshold says no.
  CHECK(metric("binary_accuracy", {floats({1, 1}, {1}), floats({1, 1}, {.5F})}) == Score{0, 1});
  // Two of four outputs are right in each sample: a sample counts by its mean.
  const Data several = {ints({2, 4}, {1, 1, 0, 0, 1, 0, 1, 0}),
                        floats({2, 4}, {.9F, .1F, .2F, .8F, .9F, .1F, .2F, .8F})};
  CHECK(metric("binary_accuracy", several) == Score{1, 2});
}

TEST_CASE("top k counts equals as in, and labels that are no class as out") {
  const auto top = [](int k, std::int32_t label, const std::vector<float>& row) {
    return metric("SparseTopKCategoricalAccuracy: {k: " + std::to_string(k) + "}",
                  {ints({1}, {label}), floats({1, static_cast<std::int64_t>(row.size())}, row)})
        .total;
  };
  CHECK(top(1, 2, {.1F, .2F, .7F}) == 1);
  CHECK(top(1, 1, {.1F, .2F, .7F}) == 0);
  CHECK(top(2, 1, {.1F, .2F, .7F}) == 1);
  CHECK(top(2, 0, {.1F, .2F, .7F}) == 0);
  CHECK(top(5, 0, {.1F, .2F, .7F}) == 1);
  CHECK(top(1, 2, {.5F, .5F, .5F}) == 1);
  CHECK(top(2, 3, {-1, -2, -3}) == 0);
  CHECK(top(2, -1, {-1, -2, -3}) == 0);
  CHECK(top(2, 0, {std::nanf(""), 1, 2}) == 0);
  CHECK(metric("top_k_categorical_accuracy", kOneHot) == Score{2, 2});
}

TEST_CASE("losses are metrics, too") {
  CHECK(metric("mse", kSquares) == Score{5, 2});
  CHECK(metric("mean_absolute_error", kSquares) == Score{2, 2});
  CHECK(metric("SparseCategoricalCrossentropy", kSparse).total ==
        doctest::Approx(2 * 1.17693925).epsilon(2e-6));
}

TEST_CASE("a metric counts what ignore_class hides where there are no weights, as in Keras") {
  const Data data = {ints({3}, {0, 1, 2}),
                     floats({3, 3}, {.8F, .1F, .1F, .05F, .95F, 0, .1F, .8F, .1F})};
  const std::string text = "SparseCategoricalCrossentropy: {ignore_class: 0}";
  const Score plain = metric(text, data);
  CHECK(plain.count == 3);
  CHECK(plain.total / plain.count == doctest::Approx(0.78462).epsilon(1e-5));
  const Score weighted = metric(text, data, floats({3}, {.5F, 1.5F, 2}));
  CHECK(weighted.count == 3.5);
  CHECK(weighted.total / weighted.count == doctest::Approx(1.33774646));
}

TEST_CASE("Perplexity sums crossentropies of tokens, and counts tokens") {
  const Data data = {ints({2, 2}, {1, 0, 1, 1}),
                     floats({2, 2, 2}, {.25F, .75F, .5F, .5F, .1F, .9F, .6F, .4F})};
  const auto sum = [](const std::vector<double>& shares) {
    double result = 0;
    for (const double share : shares) result -= std::log(share);
    return doctest::Approx(result);
  };
  const Score all = metric("perplexity", data);
  CHECK(all.count == 4);
  CHECK(all.total == sum({.75, .5, .9, .4}));
  const Score masked = metric("Perplexity: {mask_token_id: 0}", data);
  CHECK(masked.count == 3);
  CHECK(masked.total == sum({.75, .9, .4}));
  const HostTensor weights = floats({2, 2}, {2, 1, 0, 0});
  const Score weighted = metric("Perplexity: {mask_token_id: 0}", data, weights);
  CHECK(weighted.count == 2);
  CHECK(weighted.total == sum({.75, .75}));
  const Score each = metric("perplexity", data, floats({2}, {2, 0}));
  CHECK(each.count == 4);
  CHECK(each.total == sum({.75, .75, .5, .5}));
  const Score padded = metric("perplexity", data, {}, floats({2, 2}, {1, 1, 1, 0}));
  CHECK(padded.count == 3);
  CHECK(padded.total == sum({.75, .5, .9}));
}

TEST_CASE("axis may name the last dimension by its number") {
  const Data data = {floats({2, 3}, {0, 1, 0, 1, 0, 0}),
                     floats({2, 3}, {.2F, .7F, .1F, .5F, .3F, .2F})};
  for (const std::string name : {"CosineSimilarity", "BinaryCrossentropy",
                                 "CategoricalCrossentropy", "CategoricalFocalCrossentropy"}) {
    CHECK(loss(name + ": {axis: 1}", data) == loss(name, data));
  }
  CHECK_THROWS_WITH(loss("CategoricalCrossentropy: {axis: 2}", data),
                    "c.yaml:1:33: loss CategoricalCrossentropy: axis 2 is not supported yet; leave "
                    "it out for the last dimension, 1");
  for (const std::string name :
       {"CosineSimilarity", "CategoricalCrossentropy", "PearsonCorrelation"}) {
    CHECK(metric(name + ": {axis: 1}", data) == metric(name + ": {}", data));
    CHECK_THROWS_WITH(
        metric(name + ": {axis: 0}", data),
        (std::string("c.yaml:1:") + std::to_string(name.size() + 10) + ": metric " + name +
         ": axis 0 is not supported yet; leave it out for the last dimension, 1")
            .c_str());
  }
}

TEST_CASE("top_k leaves Precision and Recall the greatest predictions") {
  const Data data = {floats({4, 4}, {0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0}),
                     floats({4, 4}, {.2F, .7F, .7F, .7F, .1F, .4F, .3F, .2F, .5F, .9F, .5F, .1F,
                                     .6F, .3F, .8F, .3F})};
  const HostTensor weights = floats({4}, {1, 2, 4, 8});
  // By Keras 3.15.
  CHECK(metric("Precision: {top_k: 1}", data) == Score{1, 4});
  CHECK(metric("Precision: {top_k: 2}", data) == Score{2, 8});
  CHECK(metric("Precision: {top_k: 2}", data, weights) == Score{9, 30});
  CHECK(metric("Precision: {top_k: 2, thresholds: 0.45}", data) == Score{2, 6});
  CHECK(metric("Precision: {top_k: 2, class_id: 1}", data) == Score{1, 3});
  CHECK(metric("Precision: {top_k: 3, class_id: -1}", data, weights) == Score{3, 3});
  CHECK(metric("Recall: {top_k: 2}", data) == Score{2, 7});
  CHECK(metric("Recall: {top_k: 2}", data, weights) == Score{9, 26});
  CHECK(metric("Recall: {top_k: 2, class_id: 1}", data, weights) == Score{1, 9});
  CHECK_THROWS_WITH(metric("Recall: {top_k: 5}", data),
                    "c.yaml:1:1: metric Recall: top_k is 5, and the last dimension of the "
                    "predictions is 4");
}

TEST_CASE("Precision counts predictions, Recall labels") {
  const Data data = {floats({4, 2}, {0, 1, 1, 0, 2, 0, 0, 1}),
                     floats({4, 2}, {.2F, .9F, .5F, .7F, .51F, 0, 1, .3F})};
  // By Keras 3.15: 2 of 4; weighted 3 of 11.
  CHECK(metric("precision", data) == Score{2, 4});
  CHECK(metric("Recall", data) == Score{2, 4});
  const HostTensor weights = floats({4}, {1, 4, 2, 4});
  CHECK(metric("Precision", data, weights) == Score{3, 11});
  CHECK(metric("recall", data, weights) == Score{3, 11});
  CHECK(metric("Precision: {thresholds: 0.25}", data) == Score{4, 6});
  CHECK(metric("Recall: {thresholds: 0.25}", data) == Score{4, 4});
  CHECK(metric("Precision: {thresholds: 1.0}", data) == Score{0, 0});
  CHECK(metric("Precision: {class_id: 0}", data, weights) == Score{2, 6});
  CHECK(metric("Recall: {class_id: 1}", data) == Score{1, 2});
  CHECK(metric("Recall: {class_id: -1}", data) == Score{1, 2});
  CHECK(metric("Precision: {class_id: -2}", data, weights) == Score{2, 6});
  CHECK_THROWS_WITH(metric("Recall: {class_id: -3}", data),
                    "c.yaml:1:1: metric Recall: class_id is -3, and the last dimension of the "
                    "predictions is 2");
  CHECK_THROWS_WITH(metric("Recall: {class_id: 2}", data),
                    "c.yaml:1:1: metric Recall: class_id is 2, and the last dimension of the "
                    "predictions is 2");
  CHECK(metric("precision", {ints({2}, {1, 0}), floats({2, 1}, {.9F, .8F})}) == Score{1, 2});
  const Data padded = {floats({2, 2, 1}, {1, 1, 0, 1}), floats({2, 2, 1}, {.9F, .9F, .9F, .1F})};
  CHECK(metric("precision", padded, {}, floats({2, 2}, {1, 0, 1, 1})) == Score{1, 2});
  CHECK(metric("recall", padded, {}, floats({2, 2}, {1, 0, 1, 1})) == Score{1, 2});
}

TEST_CASE("RootMeanSquaredError is a mean over samples") {
  CHECK(metric("root_mean_squared_error", kSquares) == Score{5, 2});
  CHECK(metric("RootMeanSquaredError", kSquares, floats({2}, {3, 1})) == Score{6, 4});
}

TEST_CASE("a masked loss has its shape behind any number of other nodes") {
  for (int before = 0; before < 140; ++before) {
    CAPTURE(before);
    Graph graph;
    GraphBuilder b(graph);
    const TensorType type{DType::kFloat32, {4, 5}};
    for (int i = 0; i < before; ++i) ops::input(b, "unused" + std::to_string(i), type);
    const ValueId y = ops::input(b, "y", {DType::kFloat32, {4, 5, 1}});
    const ValueId p = ops::input(b, "p", {DType::kFloat32, {4, 5, 1}});
    const ValueId mask = ops::input(b, "m", type);
    CHECK_NOTHROW(add_loss(b, read_loss(spec_of("mse")), y, {p, mask}));
    verify(graph);
  }
}

TEST_CASE("what is logged of sums") {
  const LoggedValue mean{"accuracy", true};
  CHECK(mean.of(std::vector<double>{3, 4}) == .75);
  const LoggedValue perplexity{"perplexity", false, MetricResult::kExpOfMean};
  CHECK(perplexity.of(std::vector<double>{3, 4}) == doctest::Approx(std::exp(.75)));
  CHECK(perplexity.of(std::vector<double>{0, 0}) == 0);
  const LoggedValue root{"root_mean_squared_error", false, MetricResult::kRootOfMean};
  CHECK(root.of(std::vector<double>{9, 4}) == 1.5);
  CHECK(root.of(std::vector<double>{0, 0}) == 0);
  const LoggedValue precision{"precision", true, MetricResult::kMeanOfValid};
  CHECK(precision.of(std::vector<double>{3, 4}) == .75);
  CHECK(precision.of(std::vector<double>{0, 0}) == 0);
}
