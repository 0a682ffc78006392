#include "model/activations/parts.h"

#include "ops/ops.h"

namespace meshwork::activations {

ValueId expm1_negative(GraphBuilder& b, ValueId x) {
  // exp(x) - 1 = 2 t / (1 - t) with t = tanh(x / 2), which is in (-1, 0]
  const ValueId t = b.add(ops::kTanh, {ops::scale(b, x, 0.5)});
  const ValueId one = ops::constant_like(b, 1.0, x);
  const ValueId twice = ops::scale(b, t, 2.0);
  return ops::divide(b, twice, ops::subtract(b, one, t));
}

ValueId keep_above(GraphBuilder& b, ValueId x, double bound, double otherwise) {
  const ValueId above = ops::greater(b, x, ops::constant_like(b, bound, x));
  return ops::select(b, above, x, ops::constant_like(b, otherwise, x));
}

ValueId leaky_relu(GraphBuilder& b, ValueId x, double slope) {
  const ValueId positive = ops::greater_equal(b, x, ops::constant_like(b, 0.0, x));
  return ops::select(b, positive, x, ops::scale(b, x, slope));
}

}  // namespace meshwork::activations
