// sqrt of the mean of (y - p)^2
#include "model/metrics/metric.h"

namespace meshwork::metrics {

const MetricDef kRootMeanSquaredError{
    .names = {"RootMeanSquaredError", "root_mean_squared_error"},
    .read = [](config::Reader& args) { return losses::kMeanSquaredError.read(args); },
    .greater_is_better = false,
    .result = MetricResult::kRootOfMean,
};

}  // namespace meshwork::metrics
