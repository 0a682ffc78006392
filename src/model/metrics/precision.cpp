// Precision: of the predictions above the threshold, the share whose label is no zero.
// Recall: of the labels that are no zero, the share whose prediction is above the threshold.
// `top_k`: other predictions than the greatest of the last dimension are above none, and these are
// above any that is not given.
#include "model/metrics/metric.h"
#include "model/metrics/one_class.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

/// What of labels and predictions is counted.
enum class Counted { kPredictions, kLabels };

/// Keras's negative infinity.
constexpr double kLeast = -1e10;
/// Each is looked for by itself.
constexpr std::int64_t kMostTop = 100;

/// kLeast in the place of all but the k greatest predictions; of equals those of lower numbers.
Comparison keep_greatest(const Comparison& c, std::int64_t k) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_shapes(c);
  const Shape shape = b.shape(p);
  if (k > shape.back()) {
    fail_at(c.at, "{}: top_k is {}, and the last dimension of the predictions is {}", c.what, k,
            shape.back());
  }
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const ValueId least = ops::constant(b, kLeast);
  ValueId rest = p;
  for (std::int64_t i = 0; i < k; ++i) {
    const ValueId place = b.add(ops::kArgMax, {rest}, {{"axis", last}});
    const ValueId is_next = b.add(ops::kOneHot, {place}, {{"depth", shape.back()}});
    rest = ops::select(b, is_next, least, rest);
  }
  const ValueId is_kept = ops::greater(b, p, rest);
  Comparison kept = c;
  kept.labels = y;
  kept.predictions = ops::select(b, is_kept, p, least);
  return kept;
}

template <Counted kCounted>
CompareFunction read(config::Reader& args) {
  const auto top_k = args.get_integer("top_k", config::between(1, kMostTop));
  const bool is_given = args.find("thresholds") != nullptr;
  const double threshold = top_k && !is_given ? kLeast : read_threshold(args);
  const auto class_id = read_class_id(args);
  return [=](const Comparison& c) {
    const auto [y, p] = match_class(top_k ? keep_greatest(c, *top_k) : c, class_id);
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
