// y = sum over the factors of x and w that are not in y of x * w: "m k, k n -> m n"
#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/result_dtype.h"

namespace meshwork::ops {
namespace {

struct Equation {
  std::string x, w, y;  ///< "m k", "k n", "m n"
};

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Equation split_equation(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  MW_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow,
           "equation '{}'", text);
  return {trim(text.substr(0, comma)), trim(text.substr(comma + 1, arrow - comma - 1)),
          trim(text.substr(arrow + 2))};
}

std::vector<std::string> names(const std::string& operand) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while ((begin = operand.find_first_not_of(' ', begin)) != std::string::npos) {
    const std::size_t end = std::min(operand.find(' ', begin), operand.size());
    result.push_back(operand.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

/// Extent of the factor `name` in an operand, or -1.
std::int64_t extent_of(const std::string& operand, const Shape& shape, const std::string& name) {
  const auto factors = names(operand);
  MW_CHECK(factors.size() == shape.size(), "'{}' is not for {}", operand, to_string(shape));
  for (std::size_t d = 0; d < factors.size(); ++d) {
    if (factors[d] == name) return shape[d];
  }
  return -1;
}

bool has(const std::string& operand, const std::string& name) {
  const auto factors = names(operand);
  return std::find(factors.begin(), factors.end(), name) != factors.end();
}

/// A factor of only one operand could not have a gradient that is an einsum too.
void check_factors(const std::string& one, const std::string& other, const std::string& third) {
  for (const std::string& name : names(one)) {
    MW_CHECK(has(other, name) || has(third, name), "einsum: '{}' stands only in '{}'", name, one);
  }
}

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2);
  MW_CHECK(is_floating(args.inputs[0].dtype) && args.inputs[1].dtype == args.inputs[0].dtype,
           "{} times {}", to_string(args.inputs[0]), to_string(args.inputs[1]));
  const Equation equation = split_equation(args.attrs.text("equation"));
  check_factors(equation.x, equation.w, equation.y);
  check_factors(equation.w, equation.x, equation.y);
  check_factors(equation.y, equation.x, equation.w);
  const Shape& x = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  for (const std::string& name : names(equation.x)) {
    const std::int64_t in_w = extent_of(equation.w, w, name);
    const std::int64_t in_x = extent_of(equation.x, x, name);
    if (in_w >= 0 && in_w != in_x) {
      fail("cannot multiply {} by {} as '{}': '{}' is {} and {}", to_string(x), to_string(w),
           args.attrs.text("equation"), name, in_x, in_w);
    }
  }
  TensorType result{result_dtype(args), {}};
  for (const std::string& name : names(equation.y)) {
    const std::int64_t in_x = extent_of(equation.x, x, name);
    result.shape.push_back(in_x >= 0 ? in_x : extent_of(equation.w, w, name));
  }
  return result;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const Equation e = split_equation(node.attrs.text("equation"));
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
