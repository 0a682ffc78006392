#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "model/losses/loss.h"

namespace meshwork {

/// A metric that is no mean over values: what is counted, and what the sums over an epoch come to.
struct Counting {
  /// A float32 value, which is added up over the batches; `weights` as those of add_metric().
  std::function<ValueId(const Comparison&, ValueId weights)> count;
  ResultOfCounts result;
};

/// One metric, in the list of registry.cpp: its spellings, class and snake case first, and its
/// arguments. Every loss is a metric, too.
struct MetricDef {
  std::vector<std::string_view> names;
  CompareFunction (*read)(config::Reader& args) = nullptr;  ///< or read_counting
  Counting (*read_counting)(config::Reader& args) = nullptr;
  /// What another spelling than the class with arguments means, where that is something else.
  CompareFunction (*read_word)(config::Reader& args) = nullptr;
  bool greater_is_better = true;  ///< a loss as a metric: less is
  MetricResult result = MetricResult::kMean;
  std::string_view module = "keras.metrics";  ///< whose class it is
};

const std::vector<const MetricDef*>& metric_registry();

struct Metric {
  std::string name;         ///< as it is logged: the word given, or for `MeanSquaredError: {}` the
                            ///< name of the class, mean_squared_error
  CompareFunction compare;  ///< or counting
  Counting counting;
  config::Location at;
  std::string what;
  bool greater_is_better = true;
  MetricResult result = MetricResult::kMean;
};

/// What a metric of this class is logged as where nobody names it: "sparse_categorical_accuracy"
/// for `SparseCategoricalAccuracy: {}`. "" where there is no such class.
std::string logged_name(std::string_view class_name);

/// Reads the metrics of an output. Beside weighted ones `others` are those without weights: one
/// that is called as one of these is logged as weighted_<name>, as in Keras.
std::vector<Metric> read_metrics(std::span<const config::ClassSpec> specs,
                                 std::span<const Metric> others = {});

/// Adds the outputs `<name>/total` and `<name>/count`, float32 scalars: the sum over the samples
/// of the batch, each the mean of its values, and the number of samples. With sample weights or a
/// mask: the sum of the weighted values, and that of the weights. Of kExpOfMean and kMeanOfValid:
/// the sum of all values, weighted, and the number of those that count, or the sum of their
/// weights. Of one that counts: `<name>/counts`, all of it on every device.
void add_metric(GraphBuilder& b, const Metric& metric, ValueId labels,
                const Prediction& predictions, ValueId weights = kNoValue);

namespace metrics {

/// The key `thresholds`, one number of 0 to 1; 0.5 by default.
double read_threshold(config::Reader& args);

extern const MetricDef kAccuracy;
extern const MetricDef kAuc;
extern const MetricDef kBinaryAccuracy;
extern const MetricDef kBinaryIoU;
extern const MetricDef kCategoricalAccuracy;
extern const MetricDef kConcordanceCorrelation;
extern const MetricDef kCosineSimilarity;
extern const MetricDef kF1Score;
extern const MetricDef kFBetaScore;
extern const MetricDef kFalseNegatives;
extern const MetricDef kFalsePositives;
extern const MetricDef kIoU;
extern const MetricDef kLogCoshError;
extern const MetricDef kMeanIoU;
extern const MetricDef kOneHotIoU;
extern const MetricDef kOneHotMeanIoU;
extern const MetricDef kPearsonCorrelation;
extern const MetricDef kPerplexity;
extern const MetricDef kPrecision;
extern const MetricDef kPrecisionAtRecall;
extern const MetricDef kR2Score;
extern const MetricDef kRecall;
extern const MetricDef kRecallAtPrecision;
extern const MetricDef kRootMeanSquaredError;
extern const MetricDef kSensitivityAtSpecificity;
extern const MetricDef kSparseCategoricalAccuracy;
extern const MetricDef kSparseTopKCategoricalAccuracy;
extern const MetricDef kSpecificityAtSensitivity;
extern const MetricDef kTopKCategoricalAccuracy;
extern const MetricDef kTrueNegatives;
extern const MetricDef kTruePositives;
}  // namespace metrics

}  // namespace meshwork
