#include "model/unit_length.h"

#include <utility>

#include "ops/ops.h"

namespace meshwork {

ValueId to_unit_length(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, double least) {
  const ValueId sum = ops::reduce_sum(b, b.add(ops::kSquare, {x}), std::move(axes), true);
  const ValueId square = b.add(ops::kMaximum, {sum, ops::constant_like(b, least * least, x)});
  return ops::divide(b, x, b.add(ops::kSqrt, {square}));
}

}  // namespace meshwork
