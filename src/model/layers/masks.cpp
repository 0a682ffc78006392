#include "model/layers/masks.h"

#include "ops/ops.h"

namespace meshwork::layers {

ValueId differs(GraphBuilder& b, ValueId x, double value) {
  const ValueId same = ops::equal(b, x, ops::constant_like(b, value, x));
  const ValueId number = ops::cast(b, same, DType::kFloat32);
  return ops::one_minus(b, number);
}

ValueId spread_mask(GraphBuilder& b, ValueId mask, ValueId x) {
  Shape shape = b.shape(mask);
  shape.resize(b.shape(x).size(), 1);
  return ops::reshape(b, mask, shape);
}

ValueId choose(GraphBuilder& b, ValueId mask, ValueId x, ValueId other) {
  return ops::select(b, spread_mask(b, mask, x), x, other);
}

ValueId where(GraphBuilder& b, ValueId mask, ValueId x, double other) {
  return choose(b, mask, x, ops::constant_like(b, other, x));
}

}  // namespace meshwork::layers
