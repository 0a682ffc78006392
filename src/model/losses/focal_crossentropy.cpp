// Crossentropies whose terms of probability p are multiplied by (1 - p)^gamma (Lin et al. 2017)
#include "model/losses/crossentropy.h"
#include "model/losses/last_axis.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

struct Arguments {
  bool from_logits = false;
  double smoothing = 0;
  double alpha = 0.25;
  double gamma = 2;
  bool balances = false;  ///< apply_class_balancing, of the binary one
};

ValueId focus(GraphBuilder& b, ValueId p, double gamma) {
  const ValueId rest = ops::one_minus(b, p);
  if (gamma == 2) return ops::square(b, rest);
  return ops::power(b, rest, ops::constant(b, gamma));
}

/// y a + (1 - y) c
ValueId mixed(GraphBuilder& b, ValueId y, ValueId a, ValueId c) {
  const ValueId first = ops::multiply(b, y, a);
  return ops::add(b, first, ops::multiply(b, ops::one_minus(b, y), c));
}

Compared compare_binary(const Comparison& c, const Arguments& args) {
  GraphBuilder& b = c.b;
  auto [y, p] = match_shapes(c);
  y = smoothed(b, y, args.smoothing, 2);
  if (args.from_logits) p = b.add(ops::kSigmoid, {p});
  const ValueId of_label = mixed(b, y, p, ops::one_minus(b, p));
  ValueId focal = ops::multiply(b, focus(b, of_label, args.gamma), binary_terms(b, y, p));
  if (args.balances) {
    const ValueId weight =
        mixed(b, y, ops::constant(b, args.alpha), ops::constant(b, 1 - args.alpha));
    focal = ops::multiply(b, weight, focal);
  }
  return {mean_last(b, focal)};
}

Compared compare_categories(const Comparison& c, const Arguments& args) {
  GraphBuilder& b = c.b;
  const ValueId labels = one_hot_labels(c);
  ValueId p = c.predictions;
  const auto axis = static_cast<std::int64_t>(b.shape(p).size()) - 1;
  const ValueId y = smoothed(b, labels, args.smoothing, static_cast<double>(b.shape(p).back()));
  if (args.from_logits) p = b.add(ops::kSoftmax, {p}, {{"axis", axis}});
  p = clip_probability(b, ops::divide(b, p, ops::reduce_sum(b, p, {axis}, true)));
  const ValueId terms = ops::multiply(b, y, ops::log(b, p));
  const ValueId weight = ops::scale(b, focus(b, p, args.gamma), -args.alpha);
  return {ops::reduce_sum(b, ops::multiply(b, weight, terms), {axis}, false)};
}

Arguments read_arguments(config::Reader& args) {
  Arguments a;
  a.from_logits = args.get("from_logits", a.from_logits);
  a.smoothing = args.get("label_smoothing", a.smoothing, config::between(0, 1));
  a.alpha = args.get("alpha", a.alpha, config::between(0, 1));
  a.gamma = args.get("gamma", a.gamma, config::at_least(0));
  return a;
}

CompareFunction read_binary(config::Reader& args) {
  Arguments a = read_arguments(args);
  a.balances = args.get("apply_class_balancing", a.balances);
  return along_last(args, [a](const Comparison& c) { return compare_binary(c, a); });
}

CompareFunction read_categories(config::Reader& args) {
  const Arguments a = read_arguments(args);
  return along_last(args, [a](const Comparison& c) { return compare_categories(c, a); });
}

}  // namespace

const LossDef kBinaryFocalCrossentropy{
    .names = {"BinaryFocalCrossentropy", "binary_focal_crossentropy"},
    .read = read_binary,
};

const LossDef kCategoricalFocalCrossentropy{
    .names = {"CategoricalFocalCrossentropy", "categorical_focal_crossentropy"},
    .read = read_categories,
};

}  // namespace meshwork::losses
