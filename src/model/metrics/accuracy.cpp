// Accuracy: 1 where the label is the prediction. The word "accuracy": binary, sparse or categorical
// accuracy, by the shapes of labels and predictions.
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

const MetricDef& choose(LabelKind kind) {
  if (kind == LabelKind::kBinary) return kBinaryAccuracy;
  return kind == LabelKind::kSparse ? kSparseCategoricalAccuracy : kCategoricalAccuracy;
}

Compared compare(const Comparison& c) {
  const auto [y, p] = match_shapes(c);
  return {ops::equal(c.b, y, p)};
}

Compared compare_by_shapes(const Comparison& c) {
  const MetricDef& def = choose(label_kind(c.b.shape(c.labels), c.b.shape(c.predictions)));
  config::Reader defaults({}, c.what);
  return def.read(defaults)(c);
}

}  // namespace

const MetricDef kAccuracy{
    .names = {"Accuracy", "accuracy", "acc"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
    .read_word = [](config::Reader&) -> CompareFunction { return compare_by_shapes; },
};

}  // namespace meshwork::metrics
