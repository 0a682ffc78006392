// y = [x1 cos - x2 sin, x2 cos + x1 sin] of the two halves of x along `axis`, or with `inverse` the
// x that gives y: rotary position embedding (Su et al. 2021). cos and sin are broadcast to a half.
#include "base/check.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

Shape half_of(const OpArgs& args) {
  Shape shape = args.inputs[0].shape;
  std::int64_t& extent = shape.at(static_cast<std::size_t>(args.attrs.integer("axis")));
  MW_CHECK(extent % 2 == 0, "halves of {}", extent);
  extent /= 2;
  return shape;
}

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3 && is_floating(args.inputs[0].dtype));
  const Shape half = half_of(args);
  const TensorType &cos = args.inputs[1], &sin = args.inputs[2];
  MW_CHECK(cos.dtype == DType::kFloat32 && cos == sin && cos.shape.size() == half.size());
  for (std::size_t d = 0; d < half.size(); ++d) {
    MW_CHECK(cos.shape[d] == half[d] || cos.shape[d] == 1, "{} for {}", to_string(cos.shape),
             to_string(half));
  }
  return args.inputs[0];
}

// "a b c [d], 1 b 1 [e], 1 b 1 [e] -> a b c [d]"
std::string rule(const OpArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const Shape& turned = args.inputs[1].shape;
  std::string x, angle;
  for (std::size_t d = 0; d < turned.size(); ++d) {
    const std::string space = d > 0 ? " " : "";
    const bool is_axis = d == axis;
    x += space + (is_axis ? "[" + factor_name(d) + "]" : factor_name(d));
    angle += space + (turned[d] == 1 ? "1"
                      : is_axis      ? "[" + factor_name(turned.size()) + "]"
                                     : factor_name(d));
  }
  return x + ", " + angle + ", " + angle + " -> " + x;
}

ValueId half(GraphBuilder& b, ValueId x, std::int64_t axis, bool second) {
  const std::int64_t size = b.shape(x)[static_cast<std::size_t>(axis)] / 2;
  return b.add(kSlice, {x}, {{"axis", axis}, {"start", second ? size : 0}, {"size", size}});
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0], cos = node.inputs[1], sin = node.inputs[2];
  const std::int64_t axis = node.attrs.integer("axis");
  Attrs back = node.attrs;
  back.set("inverse", !node.attrs.flag("inverse"));
  const ValueId x1 = cast(b, half(b, x, axis, false), DType::kFloat32);
  const ValueId x2 = cast(b, half(b, x, axis, true), DType::kFloat32);
  const ValueId dy1 = cast(b, half(b, dy, axis, false), DType::kFloat32);
  const ValueId dy2 = cast(b, half(b, dy, axis, true), DType::kFloat32);
  const ValueId along = add(b, multiply(b, dy1, x1), multiply(b, dy2, x2));
  const ValueId across = subtract(b, multiply(b, dy2, x1), multiply(b, dy1, x2));
  const ValueId turned = node.attrs.flag("inverse") ? scale(b, across, -1) : across;
  return {b.add(kRotary, {dy, cos, sin}, back), sum_to(b, along, b.shape(cos)),
          sum_to(b, turned, b.shape(sin))};
}

double flops(const OpArgs& args) {
  return 3 * static_cast<double>(num_elements(args.output.shape));
}

}  // namespace

const OpDef kRotary{
    .name = "rotary",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
};

}  // namespace meshwork::ops
