// Helpers of gradients that are no ops of their own.
#include "base/check.h"
#include "ops/ops.h"

namespace meshwork::ops {

ValueId sum_to(GraphBuilder& b, ValueId x, const Shape& shape) {
  // A copy: `shape` may lie in the graph, which grows below.
  const Shape to = shape;
  const Shape from = b.shape(x);
  MW_CHECK(to.size() <= from.size(), "sum of {} to {}", to_string(from), to_string(to));
  const std::size_t missing = from.size() - to.size();
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool repeated = d < missing || (to[d - missing] == 1 && from[d] != 1);
    MW_CHECK(repeated || to[d - missing] == from[d], "sum of {} to {}", to_string(from),
             to_string(to));
    if (repeated) axes.push_back(static_cast<std::int64_t>(d));
  }
  // What is repeated along dimensions of its own keeps them: a row's sum stays beside its row.
  return reshape(b, reduce_sum(b, x, std::move(axes), missing == 0), to);
}

ValueId zeros_like(GraphBuilder& b, ValueId x) { return constant(b, 0, b.type(x)); }

}  // namespace meshwork::ops
