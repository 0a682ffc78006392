// y = x as `dtype`; a fraction is cut off towards zero
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  return {dtype_from_string(args.attrs.text("dtype")), args.inputs[0].shape};
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const DType from = b.type(b.node(self).inputs[0]).dtype;
  const bool smooth = is_floating(from) && is_floating(b.type(self).dtype);
  return {smooth ? cast(b, dy, from) : kNoValue};
}

}  // namespace

const OpDef kCast{
    .name = "cast",
    .infer = infer,
    .rule = elementwise_rule,
    .grad = grad,
    .linear = Linear::kJointly,
    .in_place = true,
    .elementwise = true,
    .same_elements = true,
};

ValueId cast(GraphBuilder& b, ValueId x, DType dtype) {
  if (b.type(x).dtype == dtype) return x;
  return b.add(kCast, {x}, {{"dtype", std::string(to_string(dtype))}});
}

}  // namespace meshwork::ops
