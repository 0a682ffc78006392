// 1 where the greatest prediction is that of the true class, given one-hot or as a number
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

ValueId arg_max(GraphBuilder& b, ValueId x) {
  const auto axis = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  return b.add(ops::kArgMax, {x}, {{"axis", axis}});
}

Compared compare(const Comparison& c) {
  const ValueId truth = arg_max(c.b, one_hot_labels(c));
  return {ops::equal(c.b, truth, arg_max(c.b, c.predictions))};
}

Compared compare_sparse(const Comparison& c) {
  const ValueId truth = class_labels(c);
  return {ops::equal(c.b, truth, arg_max(c.b, c.predictions))};
}

}  // namespace

const MetricDef kCategoricalAccuracy{
    .names = {"CategoricalAccuracy", "categorical_accuracy"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
};

const MetricDef kSparseCategoricalAccuracy{
    .names = {"SparseCategoricalAccuracy", "sparse_categorical_accuracy"},
    .read = [](config::Reader&) -> CompareFunction { return compare_sparse; },
};

}  // namespace meshwork::metrics
