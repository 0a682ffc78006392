// Precision: of the predictions above the threshold, the share whose label is no zero.
// Recall: of the labels that are no zero, the share whose prediction is above the threshold.
#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/metrics/one_class.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

/// What of labels and predictions is counted.
enum class Counted { kPredictions, kLabels };

template <Counted kCounted>
CompareFunction read(config::Reader& args) {
  refuse_arguments(args, {"top_k"});
  const double threshold = read_threshold(args);
  const auto class_id = read_class_id(args);
  return [=](const Comparison& c) {
    const auto [y, p] = match_class(c, class_id);
    const ValueId is_zero = ops::equal(c.b, y, ops::constant(c.b, 0.0));
    const ValueId is_true = ops::shift(c.b, ops::scale(c.b, is_zero, -1), 1);
    const ValueId says_yes = ops::greater(c.b, p, ops::constant(c.b, threshold));
    return Compared{ops::multiply(c.b, is_true, says_yes),
                    kCounted == Counted::kPredictions ? says_yes : is_true};
  };
}

}  // namespace

double read_threshold(config::Reader& args) {
  const config::Value* const given = args.find("thresholds");
  if (given != nullptr && given->is_list()) {
    fail_at(given->at, "{}: thresholds is a list; give one metric for each, with a 'name'",
            args.what());
  }
  return args.get("thresholds", 0.5, config::between(0, 1));
}

const MetricDef kPrecision{
    .names = {"Precision", "precision"},
    .read = read<Counted::kPredictions>,
    .result = MetricResult::kMeanOfValid,
};

const MetricDef kRecall{
    .names = {"Recall", "recall"},
    .read = read<Counted::kLabels>,
    .result = MetricResult::kMeanOfValid,
};

}  // namespace meshwork::metrics
