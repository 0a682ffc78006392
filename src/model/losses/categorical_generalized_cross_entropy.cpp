// l = (1 - p[y]^q) / q (Zhang and Sabuncu 2018); p[y] is 0 for a label that is no class
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

Compared compare(const Comparison& c, double q) {
  GraphBuilder& b = c.b;
  const ValueId p = b.add(ops::kTakeAlongAxis, {c.predictions, class_labels(c)});
  const ValueId power = ops::power(b, p, ops::constant(b, q));
  const ValueId values = ops::divide(b, ops::one_minus(b, power), ops::constant(b, q));
  return {values, kNoValue, ClassRange{b.shape(c.predictions).back(), {}}};
}

CompareFunction read(config::Reader& args) {
  const double q =
      args.get("q", 0.5, {.least = 0, .most = 1, .has_least = false, .has_most = false});
  return [q](const Comparison& c) { return compare(c, q); };
}

}  // namespace

const LossDef kCategoricalGeneralizedCrossEntropy{
    .names = {"CategoricalGeneralizedCrossEntropy", "categorical_generalized_cross_entropy"},
    .read = read,
};

}  // namespace meshwork::losses
