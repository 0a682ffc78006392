#include <algorithm>

#include "base/names.h"
#include "base/nearest.h"
#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// The reader of a metric or loss and its name in the logs.
struct Found {
  CompareFunction (*read)(config::Reader& args);
  Counting (*read_counting)(config::Reader& args);
  std::string name;
  bool greater_is_better;
  MetricResult result = MetricResult::kMean;
};

Found find_metric(const config::ClassSpec& spec) {
  std::vector<std::string> known;
  const auto hit = [&](const std::vector<std::string_view>& names) {
    for (const std::string_view name : names) {
      if (name == spec.name) return true;
      known.emplace_back(name);
    }
    return false;
  };
  const auto is_class = [&](const std::vector<std::string_view>& names) {
    return spec.args.is_map() && spec.name == names[0];
  };
  // A word is logged as it was given, a class with arguments under its name in snake case.
  const auto logged = [&](const std::vector<std::string_view>& names) {
    return std::string(is_class(names) ? names[1] : std::string_view(spec.name));
  };
  for (const MetricDef* def : metric_registry()) {
    if (!hit(def->names)) continue;
    const bool by_word = def->read_word != nullptr && !is_class(def->names);
    return {by_word ? def->read_word : def->read, def->read_counting, logged(def->names),
            def->greater_is_better, def->result};
  }
  for (const LossDef* def : loss_registry()) {
    if (hit(def->names)) return {def->read, nullptr, logged(def->names), false};
  }
  fail_at(spec.at, "there is no metric '{}'{}", spec.name, suggestion(spec.name, known));
}

Metric read_metric(const config::ClassSpec& spec) {
  const Found found = find_metric(spec);
  Metric metric;
  metric.at = spec.at;
  metric.what = fmt::format("metric {}", spec.name);
  config::Reader args(spec.args, metric.what);
  metric.name = args.get("name", found.name);
  metric.greater_is_better = found.greater_is_better;
  metric.result = found.result;
  refuse_dtype(args);
  if (found.read != nullptr) metric.compare = found.read(args);
  if (found.read_counting != nullptr) metric.counting = found.read_counting(args);
  args.finish();
  if (metric.name.empty() || metric.name.find('/') != std::string::npos) {
    fail_at(spec.at, "{}: name '{}' is empty or contains '/'", metric.what, metric.name);
  }
  return metric;
}

}  // namespace

const std::vector<const MetricDef*>& metric_registry() {
  static const std::vector<const MetricDef*> registry = {
      &metrics::kAccuracy,
      &metrics::kAuc,
      &metrics::kBinaryAccuracy,
      &metrics::kBinaryIoU,
      &metrics::kCategoricalAccuracy,
      &metrics::kConcordanceCorrelation,
      &metrics::kCosineSimilarity,
      &metrics::kF1Score,
      &metrics::kFBetaScore,
      &metrics::kFalseNegatives,
      &metrics::kFalsePositives,
      &metrics::kIoU,
      &metrics::kLogCoshError,
      &metrics::kMeanIoU,
      &metrics::kOneHotIoU,
      &metrics::kOneHotMeanIoU,
      &metrics::kPearsonCorrelation,
      &metrics::kPerplexity,
      &metrics::kPrecision,
      &metrics::kPrecisionAtRecall,
      &metrics::kR2Score,
      &metrics::kRecall,
      &metrics::kRecallAtPrecision,
      &metrics::kRootMeanSquaredError,
      &metrics::kSensitivityAtSpecificity,
      &metrics::kSparseCategoricalAccuracy,
      &metrics::kSparseTopKCategoricalAccuracy,
      &metrics::kSpecificityAtSensitivity,
      &metrics::kTopKCategoricalAccuracy,
      &metrics::kTrueNegatives,
      &metrics::kTruePositives,
  };
  return registry;
}

std::string logged_name(std::string_view class_name) {
  const auto is_class = [&](const auto* def) { return def->names[0] == class_name; };
  const auto metric = std::ranges::find_if(metric_registry(), is_class);
  if (metric != metric_registry().end()) return std::string((*metric)->names[1]);
  const auto loss = std::ranges::find_if(loss_registry(), is_class);
  return loss == loss_registry().end() ? std::string() : std::string((*loss)->names[1]);
}

std::vector<Metric> read_metrics(std::span<const config::ClassSpec> specs,
                                 std::span<const Metric> others) {
  std::vector<Metric> result;
  for (const config::ClassSpec& spec : specs) {
    Metric metric = read_metric(spec);
    if (metric.name == names::kLoss) {
      fail_at(spec.at, "{}: the name 'loss' is taken; give it another 'name'", metric.what);
    }
    const bool clashes = std::any_of(others.begin(), others.end(),
                                     [&](const Metric& m) { return m.name == metric.name; });
    if (clashes) metric.name = "weighted_" + metric.name;
    result.push_back(std::move(metric));
  }
  return result;
}

namespace {

void add_outputs(GraphBuilder& b, const std::string& name, const WeightedMean& mean) {
  b.graph().outputs.push_back({name + names::kTotal, mean.total});
  b.graph().outputs.push_back({name + names::kCount, mean.count});
}

}  // namespace

void add_metric(GraphBuilder& b, const Metric& metric, ValueId labels,
                const Prediction& predictions, ValueId weights) {
  const PathScope path(b, metric.name);
  const Comparison comparison{b, labels, predictions.value, metric.at, metric.what};
  weights = masked_weights(b, weights, predictions.mask, metric.at, metric.what);
  if (metric.counting.count) {
    const ValueId counts = metric.counting.count(comparison, weights);
    const Shape flat{num_elements(b.shape(counts))};
    b.graph().outputs.push_back(
        {metric.name + names::kCounts, ops::reshape(b, counts, flat), true});
    return;
  }
  const Compared compared = metric.compare(comparison);
  if (metric.result == MetricResult::kExpOfMean || metric.result == MetricResult::kMeanOfValid) {
    add_outputs(b, metric.name, weighted_values(b, compared, weights, metric.at, metric.what));
    return;
  }
  if (weights != kNoValue) {
    add_outputs(b, metric.name, weighted_samples(b, compared, weights, metric.at, metric.what));
    return;
  }
  const Shape shape = b.shape(compared.values);
  ValueId total = sum_all(b, compared.values);
  const auto samples = static_cast<double>(shape[0]);
  const auto elements = static_cast<double>(num_elements(shape));
  if (elements != samples) total = ops::scale(b, total, samples / elements);
  add_outputs(b, metric.name, {total, ops::constant(b, samples)});
}

}  // namespace meshwork
