#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "model/losses/loss.h"

namespace meshwork {

/// One metric, in the list of registry.cpp: its spellings, class and snake case first, and its
/// arguments. Every loss is a metric, too.
struct MetricDef {
  std::vector<std::string_view> names;
  CompareFunction (*read)(config::Reader& args);
};

const std::vector<const MetricDef*>& metric_registry();

struct Metric {
  std::string name;  ///< as it is logged: the word given, or for `MeanSquaredError: {}` the
                     ///< name of the class, mean_squared_error
  CompareFunction compare;
  config::Location at;
  std::string what;
};

/// Reads the metrics of `compile`; each must have a name of its own.
std::vector<Metric> read_metrics(std::span<const config::ClassSpec> specs);

/// Adds the outputs `<name>/total` and `<name>/count`, float32 scalars: the sum over the samples
/// of the batch, each the mean of its values, and the number of samples.
void add_metric(GraphBuilder& b, const Metric& metric, ValueId labels, ValueId predictions);

namespace metrics {
extern const MetricDef kAccuracy;
extern const MetricDef kBinaryAccuracy;
extern const MetricDef kCategoricalAccuracy;
extern const MetricDef kSparseCategoricalAccuracy;
extern const MetricDef kSparseTopKCategoricalAccuracy;
extern const MetricDef kTopKCategoricalAccuracy;
}  // namespace metrics

}  // namespace meshwork
