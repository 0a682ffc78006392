// ln cosh of the error, as a metric under Keras's names
#include "model/metrics/metric.h"

namespace meshwork::metrics {

const MetricDef kLogCoshError{
    .names = {"LogCoshError", "logcosh", "log_cosh_error"},
    .read = [](config::Reader& args) { return losses::kLogCosh.read(args); },
    .greater_is_better = false,
};

}  // namespace meshwork::metrics
