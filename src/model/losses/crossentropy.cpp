// "crossentropy": binary, sparse or categorical, by the shapes of labels and predictions
#include "model/losses/crossentropy.h"
#include "model/epsilon.h"

#include "model/losses/last_axis.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

const LossDef& choose(LabelKind kind) {
  if (kind == LabelKind::kBinary) return kBinaryCrossentropy;
  return kind == LabelKind::kSparse ? kSparseCategoricalCrossentropy : kCategoricalCrossentropy;
}

Compared compare(const Comparison& c) {
  const LossDef& def = choose(label_kind(c.b.shape(c.labels), c.b.shape(c.predictions)));
  config::Reader defaults({}, c.what);
  return def.read(defaults)(c);
}

}  // namespace

ValueId clip_probability(GraphBuilder& b, ValueId x) {
  return ops::clip(b, x, kEpsilon, 1 - kEpsilon);
}

ValueId smoothed(GraphBuilder& b, ValueId y, double smoothing, double classes) {
  if (smoothing == 0) return y;
  return ops::shift(b, ops::scale(b, y, 1 - smoothing), smoothing / classes);
}

ValueId binary_terms(GraphBuilder& b, ValueId y, ValueId x) {
  const ValueId one = ops::constant(b, 1.0);
  const ValueId p = clip_probability(b, x);
  const ValueId yes = ops::log(b, p);
  const ValueId no = ops::log(b, ops::subtract(b, one, p));
  const ValueId not_y = ops::subtract(b, one, y);
  const ValueId first = ops::multiply(b, y, yes);
  return ops::negate(b, ops::add(b, first, ops::multiply(b, not_y, no)));
}

ValueId log_probabilities(GraphBuilder& b, ValueId x, bool from_logits) {
  const auto axis = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  if (from_logits) return b.add(ops::kLogSoftmax, {x}, {{"axis", axis}});
  const ValueId share = ops::divide(b, x, ops::reduce_sum(b, x, {axis}, true));
  return ops::log(b, clip_probability(b, share));
}

CompareFunction read_smoothed(config::Reader& args,
                              Compared (*compare)(const Comparison& c, bool from_logits,
                                                  double smoothing)) {
  const bool from_logits = args.get("from_logits", false);
  const double smoothing = args.get("label_smoothing", 0.0, config::between(0, 1));
  return along_last(args, [=](const Comparison& c) { return compare(c, from_logits, smoothing); });
}

const LossDef kCrossentropy{
    .names = {"crossentropy", "ce"},
    .read = [](config::Reader&) -> CompareFunction { return compare; },
};

}  // namespace meshwork::losses
