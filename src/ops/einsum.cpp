// y = sum over the factors of x and w that are not in y of x * w: "m k, k n -> m n"
#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "graph/equation_text.h"
#include "ops/ops.h"
#include "ops/result_dtype.h"

namespace meshwork::ops {
namespace {

/// Extent of the factor `name` in an operand, or -1.
std::int64_t extent_of(const std::string& operand, const Shape& shape, const std::string& name) {
  const auto factors = factor_names(operand);
  MW_CHECK(factors.size() == shape.size(), "'{}' is not for {}", operand, to_string(shape));
  for (std::size_t d = 0; d < factors.size(); ++d) {
    if (factors[d] == name) return shape[d];
  }
  return -1;
}

/// A factor of only one operand could not have a gradient that is an einsum too.
void check_factors(const std::string& one, const std::string& other, const std::string& third) {
  for (const std::string& name : factor_names(one)) {
    MW_CHECK(has_factor(other, name) || has_factor(third, name), "einsum: '{}' stands only in '{}'",
             name, one);
  }
}

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2);
  MW_CHECK(is_floating(args.inputs[0].dtype) && args.inputs[1].dtype == args.inputs[0].dtype,
           "{} times {}", to_string(args.inputs[0]), to_string(args.inputs[1]));
  const EquationText equation = split_equation(args.attrs.text("equation"));
  check_factors(equation.x, equation.w, equation.y);
  check_factors(equation.w, equation.x, equation.y);
  check_factors(equation.y, equation.x, equation.w);
  const Shape& x = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  for (const std::string& name : factor_names(equation.x)) {
    const std::int64_t in_w = extent_of(equation.w, w, name);
    const std::int64_t in_x = extent_of(equation.x, x, name);
    if (in_w >= 0 && in_w != in_x) {
      fail("cannot multiply {} by {} as '{}': '{}' is {} and {}", to_string(x), to_string(w),
           args.attrs.text("equation"), name, in_x, in_w);
    }
  }
  TensorType result{result_dtype(args), {}};
  for (const std::string& name : factor_names(equation.y)) {
    const std::int64_t in_x = extent_of(equation.x, x, name);
    result.shape.push_back(in_x >= 0 ? in_x : extent_of(equation.w, w, name));
  }
  return result;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const EquationText e = split_equation(node.attrs.text("equation"));
  const ValueId x = node.inputs[0];
  const ValueId w = node.inputs[1];
  dy = cast(b, dy, b.type(x).dtype);  // of a wide result
  return {
      einsum(b, dy, w, e.y + ", " + e.w + " -> " + e.x),  // m n, k n -> m k
      einsum(b, x, dy, e.x + ", " + e.y + " -> " + e.w),  // m k, m n -> k n
  };
}

double flops(const OpArgs& args) {
  const auto rule = parse_rule(args.attrs.text("equation"), args.inputs, args.output);
  double count = 2;
  for (const auto& factor : rule.factors) count *= static_cast<double>(factor.size);
  return count;
}

}  // namespace

const OpDef kEinsum{
    .name = "einsum",
    .infer = infer,
    .rule = [](const OpArgs& args) { return args.attrs.text("equation"); },
    .grad = grad,
    .flops = flops,
    .linear = Linear::kEach,
    .wide_result = true,
    .sums_products = true,
};

ValueId einsum(GraphBuilder& b, ValueId x, ValueId y, const std::string& equation) {
  return b.add(kEinsum, {x, y}, {{"equation", equation}});
}

}  // namespace meshwork::ops
