// l = -sum over classes of y ln p, with y' = y (1 - s) + s / classes under smoothing s
#include "model/losses/crossentropy.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c, bool from_logits, double smoothing) {
  GraphBuilder& b = c.b;
  const ValueId labels = one_hot_labels(c);
  const auto axis = static_cast<std::int64_t>(b.shape(labels).size()) - 1;
  const ValueId y = smoothed(b, labels, smoothing, static_cast<double>(b.shape(labels).back()));
  const ValueId terms = ops::multiply(b, y, log_probabilities(b, c.predictions, from_logits));
  return {ops::negate(b, ops::reduce_sum(b, terms, {axis}, false))};
}

CompareFunction read(config::Reader& args) { return read_smoothed(args, compare); }

}  // namespace

const LossDef kCategoricalCrossentropy{
    .names = {"CategoricalCrossentropy", "categorical_crossentropy"},
    .read = read,
    .metric = {"CategoricalCrossentropy", {"from_logits", "label_smoothing", "axis"}},
};

}  // namespace meshwork::losses
