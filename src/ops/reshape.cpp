// y = the elements of x in the same (row-major) order, as `shape`; with `stops_gradient` x has no
// gradient from y
#include "base/check.h"
#include "base/error.h"
#include "ops/ops.h"
#include "ops/reshape_rule.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& from = args.inputs[0].shape;
  const Shape& to = args.attrs.integers("shape");
  for (const std::int64_t extent : to) {
    if (extent < 0) fail("cannot reshape {} to {}", to_string(from), to_string(to));
  }
  if (num_elements(from) != num_elements(to)) {
    fail("cannot reshape {} to {}: {} elements are not {}", to_string(from), to_string(to),
         num_elements(from), num_elements(to));
  }
  return {args.inputs[0].dtype, to};
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node& node = b.node(self);
  if (node.attrs.find("stops_gradient") != nullptr) return {kNoValue};
  return {reshape(b, dy, b.shape(node.inputs[0]))};
}

std::optional<std::int64_t> view_offset(const OpArgs& /*args*/) { return 0; }

}  // namespace

const OpDef kReshape{
    .name = "reshape",
    .infer = infer,
    .rule = reshape_rule,
    .grad = grad,
    .flops = no_flops,
    .fold = [](std::span<const float> x) { return x[0]; },
    .linear = Linear::kJointly,
    .same_elements = true,
    .view_offset = view_offset,
};

ValueId reshape(GraphBuilder& b, ValueId x, Shape shape) {
  if (b.shape(x) == shape) return x;
  return b.add(kReshape, {x}, {{"shape", std::move(shape)}});
}

}  // namespace meshwork::ops
