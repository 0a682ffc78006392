// y = x, repeated along new leading dimensions and along extents of one, to fill `shape`
#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& from = args.inputs[0].shape;
  const Shape& to = args.attrs.integers("shape");
  bool fits = from.size() <= to.size();
  for (std::size_t d = 1; fits && d <= from.size(); ++d) {
    const std::int64_t extent = from[from.size() - d];
    fits = extent == 1 || extent == to[to.size() - d];
  }
  if (!fits) fail("cannot broadcast {} to {}", to_string(from), to_string(to));
  return {args.inputs[0].dtype, to};
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  return {sum_to(b, dy, b.shape(b.node(self).inputs[0]))};
}

}  // namespace

const OpDef kBroadcastTo{
    .name = "broadcast_to",
    .infer = infer,
    .rule = elementwise_rule,
    .grad = grad,
    .flops = no_flops,
    .fold = [](std::span<const float> x) { return x[0]; },
    .linear = Linear::kJointly,
    .elementwise = true,
};

ValueId broadcast_to(GraphBuilder& b, ValueId x, Shape shape) {
  if (b.shape(x) == shape) return x;
  return b.add(kBroadcastTo, {x}, {{"shape", std::move(shape)}});
}

}  // namespace meshwork::ops
