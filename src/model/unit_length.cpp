#include "model/unit_length.h"

#include <utility>

#include "ops/ops.h"

namespace meshwork {

ValueId to_unit_length(GraphBuilder& b, ValueId x, std::vector<std::int64_t> axes, double least) {
  const ValueId sum = ops::reduce_sum(b, ops::square(b, x), std::move(axes), true);
  const ValueId square = ops::maximum(b, sum, ops::constant_like(b, least * least, x));
  return ops::divide(b, x, ops::sqrt(b, square));
}

}  // namespace meshwork
