// y[..] = x[.., index[..]]; an index out of range gives 0
#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[1].dtype == DType::kInt32);
  const Shape& x = args.inputs[0].shape;
  const Shape& index = args.inputs[1].shape;
  if (x.empty() || Shape(x.begin(), x.end() - 1) != index) {
    fail("cannot take from {} at {}: the indices need all its dimensions but the last",
         to_string(x), to_string(index));
  }
  return {args.inputs[0].dtype, index};
}

// "a b c, a b -> a b": a device that holds a part of c gives what lies in it, else 0.
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[1].shape.size();
  const std::string dims = factor_names(rank);
  return factor_names(rank + 1) + ", " + dims + " -> " + dims;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  Shape column = b.shape(inputs[0]);
  const std::int64_t depth = column.back();
  column.back() = 1;
  const ValueId hit =
      cast(b, b.add(kOneHot, {inputs[1]}, {{"depth", depth}}), b.type(inputs[0]).dtype);
  return {multiply(b, reshape(b, dy, std::move(column)), hit), kNoValue};
}

}  // namespace

const OpDef kTakeAlongAxis{
    .name = "take_along_axis",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .linear = Linear::kFirst,
};

}  // namespace meshwork::ops
