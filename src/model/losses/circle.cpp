// Of embeddings e of length 1, with d[i, j] = max(1 - e_i e_j, 0) and margin m:
// l_i = ln(1 + (sum over j of another class of e^(gamma max(1 + m - d, 0) (1 - m - d)))
//             (sum over j of the class of i of e^(gamma (m + d) (d - m))))
// over all pairs of the batch; 0, which does not count, where i has no j of one kind (Sun et al.
// 2020)
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::losses {
namespace {

struct Arguments {
  double gamma = 80;
  double margin = 0.4;
  bool remove_diagonal = true;
};

/// 1 where two samples have one label, [batch, batch].
ValueId same_label(GraphBuilder& b, ValueId labels) {
  const std::int64_t batch = b.shape(labels)[0];
  const ValueId y = ops::cast(b, labels, DType::kFloat32);
  return b.add(ops::kEqual, {ops::reshape(b, y, {batch, 1}), ops::reshape(b, y, {1, batch})});
}

/// The logarithm of the sum of e^x of each row, of the elements in `mask`; of none a number that
/// no other outweighs.
ValueId log_sum(GraphBuilder& b, ValueId x, ValueId mask) {
  const ValueId kept = ops::select(b, mask, x, ops::constant(b, -1e30));
  const ValueId greatest = ops::reduce_max(b, kept, {1}, false);
  const ValueId log = b.add(ops::kLogSoftmax, {kept}, {{"axis", std::int64_t{1}}});
  return ops::subtract(b, greatest, ops::reduce_max(b, log, {1}, false));
}

Compared compare(const Comparison& c, const Arguments& args) {
  GraphBuilder& b = c.b;
  const ValueId e = c.predictions;
  if (b.shape(e).size() != 2) {
    fail_at(c.at, "{}: it is for embeddings [units] of each sample; put a Flatten before it",
            c.what);
  }
  const ValueId same = same_label(b, class_labels(c));
  ValueId others = same;
  if (args.remove_diagonal) {
    const Shape square = b.shape(same);
    others =
        ops::subtract(b, same, b.add(ops::kIdentityMatrix, {}, {{"gain", 1.0}, {"shape", square}}));
  }
  const auto at_least_zero = [&](ValueId x) { return ops::maximum(b, x, ops::constant(b, 0.0)); };
  const ValueId d = at_least_zero(ops::one_minus(b, ops::einsum(b, e, e, "i k,j k->i j")));
  const ValueId pull =
      ops::multiply(b, ops::shift(b, d, args.margin), ops::shift(b, d, -args.margin));
  const ValueId weight = at_least_zero(ops::shift(b, ops::negate(b, d), 1 + args.margin));
  const ValueId push = ops::multiply(b, weight, ops::shift(b, ops::negate(b, d), 1 - args.margin));
  const ValueId p = log_sum(b, ops::scale(b, pull, args.gamma), others);
  const ValueId n = log_sum(b, ops::scale(b, push, args.gamma), ops::one_minus(b, same));
  const ValueId values = b.add(ops::kSoftplus, {ops::add(b, p, n)});
  return {values, ops::greater(b, values, ops::constant(b, 0.0))};
}

CompareFunction read(config::Reader& args) {
  Arguments a;
  a.gamma = args.get("gamma", a.gamma, config::at_least(0));
  a.margin = args.get("margin", a.margin, config::at_least(0));
  a.remove_diagonal = args.get("remove_diagonal", a.remove_diagonal);
  return [a](const Comparison& c) { return compare(c, a); };
}

}  // namespace

const LossDef kCircle{.names = {"Circle", "circle"}, .read = read};

}  // namespace meshwork::losses
