// l = mean over the last dimension of -y ln p - (1 - y) ln(1 - p); p = sigmoid(x) from logits;
// y' = y (1 - s) + s / 2 under smoothing s
#include "model/losses/crossentropy.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

// -ln sigmoid(x) = softplus(-x), -ln(1 - sigmoid(x)) = softplus(x)
ValueId from_logits_terms(GraphBuilder& b, ValueId y, ValueId x) {
  const ValueId not_y = ops::one_minus(b, y);
  const ValueId yes = b.add(ops::kSoftplus, {ops::negate(b, x)});
  const ValueId no = b.add(ops::kSoftplus, {x});
  const ValueId first = ops::multiply(b, y, yes);
  return ops::add(b, first, ops::multiply(b, not_y, no));
}

Compared compare(const Comparison& c, bool from_logits, double smoothing) {
  GraphBuilder& b = c.b;
  auto [y, p] = match_shapes(c);
  y = smoothed(b, y, smoothing, 2);
  return {mean_last(b, from_logits ? from_logits_terms(b, y, p) : binary_terms(b, y, p))};
}

CompareFunction read(config::Reader& args) { return read_smoothed(args, compare); }

}  // namespace

const LossDef kBinaryCrossentropy{
    .names = {"BinaryCrossentropy", "binary_crossentropy", "bce", "BCE"},
    .read = read,
    .metric = {"BinaryCrossentropy", {"from_logits", "label_smoothing"}},
};

}  // namespace meshwork::losses
