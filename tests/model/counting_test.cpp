// Metrics that are no means, against what Keras recorded (scripts/make_metric_fixtures.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/backend.h"
#include "base/error.h"
#include "config/yaml.h"
#include "model/metrics/metric.h"
#include "ops/ops.h"
#include "support/interpreter.h"
#include "support/npz.h"

using namespace meshwork;

namespace {

const std::filesystem::path kFolder = "tests/fixtures/metrics";

Metric metric_of(const std::string& text) {
  const config::ClassSpec spec = config::read_class(config::parse_yaml(text, "c.yaml"), "metric");
  return read_metrics({&spec, 1}).front();
}

/// What a batch adds.
std::vector<double> counts(const Metric& metric, const HostTensor& labels,
                           const HostTensor& predictions, const HostTensor* weights) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId y = ops::input(b, "y", labels.type);
  const ValueId p = ops::input(b, "p", predictions.type);
  const ValueId w = weights == nullptr ? kNoValue : ops::input(b, "w", weights->type);
  add_metric(b, metric, y, {p}, w);
  verify(graph);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.feed("y", labels);
  run.feed("p", predictions);
  if (weights != nullptr) run.feed("w", *weights);
  run.run();
  return to_doubles(run.read(metric.name + "/counts"));
}

/// Of all batches of a case.
double result(const Metric& metric, const std::string& npz) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < npz_names(npz, "y").size(); ++i) {
    const bool is_weighted = !npz_names(npz, "w").empty();
    const HostTensor weights = is_weighted ? read_npz(npz, fmt::format("w{}", i)) : HostTensor{};
    const std::vector<double> added =
        counts(metric, read_npz(npz, fmt::format("y{}", i)), read_npz(npz, fmt::format("p{}", i)),
               is_weighted ? &weights : nullptr);
    sums.resize(added.size());
    std::ranges::transform(sums, added, sums.begin(), std::plus<>());
  }
  return metric.counting.result(sums);
}

std::string failure(const std::string& text, const Shape& shape) {
  const HostTensor zeros =
      host_tensor(shape, std::vector<float>(static_cast<std::size_t>(num_elements(shape))));
  try {
    counts(metric_of(text), zeros, zeros, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("metrics that count are Keras's") {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++cases;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string npz = std::filesystem::absolute(kFolder / (name + ".npz"));
    const double expected = to_doubles(read_npz(npz, "result"))[0];
    CHECK(result(metric_of(text.str()), npz) == doctest::Approx(expected).epsilon(2e-6));
  }
  CHECK(cases >= 42);
}

TEST_CASE("metrics that count refuse what gives no number") {
  CHECK(failure("F1Score", {2, 3}) ==
        "c.yaml:1:1: metric F1Score: without 'average' it is a number for each of 3 labels; say "
        "micro, macro or weighted");
  CHECK(failure("F1Score", {2, 1}) == "");
  CHECK(failure("R2Score", {2, 3, 4}) ==
        "c.yaml:1:1: metric R2Score: it is for predictions [outputs] of each sample, not [3, 4]");
  CHECK(failure("AUC: {multi_label: true}", {2, 3, 4}) ==
        "c.yaml:1:1: metric AUC: multi_label is for predictions [labels] of each sample, not "
        "[3, 4]");
  CHECK_THROWS_WITH(metric_of("AUC: {thresholds: 0.5}"),
                    "c.yaml:1:19: metric AUC: thresholds must be a list of up to 1000 numbers "
                    "between 0 and 1");
  CHECK_THROWS_WITH(metric_of("AUC: {thresholds: [0.5, 1.5]}"),
                    "c.yaml:1:25: metric AUC: a threshold is 1.5, not between 0 and 1");
  CHECK_THROWS_WITH(metric_of("AUC: {curve: RoC}"),
                    "c.yaml:1:14: metric AUC: curve 'RoC' is unknown; nearest: 'ROC'");
  CHECK_THROWS_WITH(metric_of("IoU: {num_classes: 3, target_class_ids: [0, 3]}"),
                    "c.yaml:1:41: metric IoU: target_class_ids names class 3; there are 0 to 2");
  CHECK_THROWS_WITH(metric_of("PrecisionAtRecall: {recall: 1.5}"),
                    "c.yaml:1:29: metric PrecisionAtRecall: recall is 1.5, not between 0 and 1");
  CHECK_THROWS_WITH(metric_of("MeanIoU"), "c.yaml:1:1: metric MeanIoU needs the key 'num_classes'");
}
