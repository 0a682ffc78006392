// y[..] = the index of the greatest x[.., c, ..] along `axis`, the lowest of several, or of the
// first NaN; int32
#include "base/check.h"
#include "ops/ops.h"
#include "ops/reduce.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && is_floating(args.inputs[0].dtype));
  const auto axis = args.attrs.integer("axis");
  Shape shape = args.inputs[0].shape;
  MW_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(shape.size()), "axis {} of {}", axis,
           to_string(shape));
  shape.erase(shape.begin() + axis);
  return {DType::kInt32, shape};
}

std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  std::string right;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != axis) right += " " + factor_name(d);
  }
  return whole_axis(rank, axis, axis) + " ->" + right;
}

// In whole numbers, so that no extent is too great to count in float32: among the places of the
// maximum, or of NaN, which equals nothing, the one farthest from the end.
ValueId split(GraphBuilder& b, std::span<const ValueId> inputs, const Attrs& attrs) {
  const ValueId x = inputs[0];
  const std::int64_t axis = attrs.integer("axis");
  const std::int64_t extent = b.shape(x)[static_cast<std::size_t>(axis)];
  const auto number = [&](std::int64_t value) {
    return constant(b, static_cast<double>(value), {DType::kInt32, {}});
  };
  Shape line(b.shape(x).size(), 1);
  line[static_cast<std::size_t>(axis)] = extent;
  const ValueId is_max = equal(b, x, reduce_max(b, x, {axis}, true));
  const ValueId index = b.add(kIota, {}, {{"dim", axis}, {"dtype", "int32"}, {"shape", line}});
  const ValueId last = number(extent - 1);
  const ValueId from_end = subtract(b, last, index);
  const ValueId is_number = equal(b, x, x);
  const ValueId candidates = select(b, is_number, select(b, is_max, from_end, number(0)), from_end);
  return subtract(b, last, reduce_max(b, candidates, {axis}, false));
}

}  // namespace

const OpDef kArgMax{
    .name = "argmax",
    .infer = infer,
    .rule = rule,
    .split = split,
    .flops = reduce_flops,
};

}  // namespace meshwork::ops
