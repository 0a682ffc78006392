// 1 where fewer than k classes have a greater prediction than the true one. Counting needs no
// sort, and no gather where the classes are sharded; equals count as in, as in Keras.
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

Compared in_top_k(GraphBuilder& b, ValueId truth, ValueId predictions, std::int64_t k) {
  const ValueId of_truth = b.add(ops::kTakeAlongAxis, {predictions, truth});
  Shape column = b.shape(of_truth);
  const auto axis = static_cast<std::int64_t>(column.size());
  column.push_back(1);
  const ValueId greater = ops::greater(b, predictions, ops::reshape(b, of_truth, column));
  const ValueId before = ops::reduce_sum(b, greater, {axis}, false);
  const ValueId hit = ops::greater(b, ops::constant(b, static_cast<double>(k)), before);
  // No hit: a label that is no class, of which take_along_axis gives 0; a prediction that is NaN.
  const ValueId number = ops::cast(b, truth, DType::kFloat32);
  const auto classes = static_cast<double>(b.shape(predictions).back());
  const ValueId above = ops::greater_equal(b, number, ops::constant(b, 0.0));
  const ValueId below = ops::greater(b, ops::constant(b, classes), number);
  const ValueId known = ops::equal(b, of_truth, of_truth);
  const ValueId is_class = ops::multiply(b, ops::multiply(b, above, below), known);
  return {ops::multiply(b, hit, is_class)};
}

CompareFunction read(config::Reader& args) {
  const std::int64_t k = args.get("k", 5, config::at_least(1));
  return [k](const Comparison& c) {
    const ValueId y = one_hot_labels(c);
    const auto axis = static_cast<std::int64_t>(c.b.shape(y).size()) - 1;
    return in_top_k(c.b, c.b.add(ops::kArgMax, {y}, {{"axis", axis}}), c.predictions, k);
  };
}

CompareFunction read_sparse(config::Reader& args) {
  const std::int64_t k = args.get("k", 5, config::at_least(1));
  if (args.get("from_sorted_ids", false)) {
    fail_at(args.at(), "{}: from_sorted_ids is not supported yet; leave it out", args.what());
  }
  return [k](const Comparison& c) { return in_top_k(c.b, class_labels(c), c.predictions, k); };
}

}  // namespace

const MetricDef kSparseTopKCategoricalAccuracy{
    .names = {"SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy"},
    .read = read_sparse,
};

const MetricDef kTopKCategoricalAccuracy{
    .names = {"TopKCategoricalAccuracy", "top_k_categorical_accuracy"},
    .read = read,
};

}  // namespace meshwork::metrics
