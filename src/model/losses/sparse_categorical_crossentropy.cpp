// l = -ln p[y]; 0 for a label that is no class, as in Keras
#include "model/losses/crossentropy.h"
#include "model/losses/last_axis.h"
#include "ops/ops.h"

namespace meshwork::losses {

Compared compare_classes(const Comparison& c, bool from_logits,
                         std::optional<std::int64_t> ignored) {
  GraphBuilder& b = c.b;
  const ValueId y = class_labels(c);
  const ValueId log = log_probabilities(b, c.predictions, from_logits);
  const ValueId values = ops::negate(b, b.add(ops::kTakeAlongAxis, {log, y}));
  const ClassRange classes{b.shape(c.predictions).back(), ignored};
  if (!ignored) return {values, kNoValue, classes};
  const ValueId number = ops::cast(b, y, DType::kFloat32);
  const ValueId is_ignored = ops::equal(b, number, ops::constant(b, static_cast<double>(*ignored)));
  const ValueId zero = ops::constant(b, 0.0);
  const ValueId valid = ops::one_minus(b, is_ignored);
  return {ops::select(b, is_ignored, zero, values), valid, classes};
}

namespace {

CompareFunction read(config::Reader& args) {
  const bool from_logits = args.get("from_logits", false);
  const auto ignored = args.get_integer("ignore_class");
  return along_last(args,
                    [=](const Comparison& c) { return compare_classes(c, from_logits, ignored); });
}

}  // namespace

const LossDef kSparseCategoricalCrossentropy{
    .names = {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"},
    .read = read,
    .metric = {"SparseCategoricalCrossentropy", {"from_logits", "ignore_class", "axis"}},
};

}  // namespace meshwork::losses
