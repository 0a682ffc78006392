// y = einsum(x, w) + bias, or relu of that: what a layer of products gives, in one kernel. The
// factors of the bias are the last of y, and of w alone: "m k, k n -> m n" and n
#include "base/check.h"
#include "base/join.h"
#include "graph/equation_text.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

std::vector<std::string> bias_factors(const EquationText& e, std::size_t rank) {
  const std::vector<std::string> y = factor_names(e.y);
  MW_CHECK(rank >= 1 && rank <= y.size(), "a bias of {} dimensions for '{}'", rank, e.y);
  return {y.end() - static_cast<std::ptrdiff_t>(rank), y.end()};
}

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3);
  const TensorType result =
      kEinsum.infer({args.inputs.first(2), args.attrs, args.output, args.collective});
  const TensorType& bias = args.inputs[2];
  const EquationText e = split_equation(args.attrs.text("equation"));
  for (const std::string& name : bias_factors(e, bias.shape.size())) {
    MW_CHECK(!has_factor(e.x, name), "a bias for '{}', which x has", name);
  }
  const auto rank = static_cast<std::ptrdiff_t>(bias.shape.size());
  MW_CHECK(bias.dtype == result.dtype &&
               bias.shape == Shape(result.shape.end() - rank, result.shape.end()),
           "{} plus a bias {}", to_string(result), to_string(bias));
  return result;
}

/// A part of the sums would have the bias added and what is negative cut off.
std::string rule(const OpArgs& args) {
  const EquationText e = split_equation(args.attrs.text("equation"));
  const auto whole_sums = [&](const std::string& operand) {
    std::vector<std::string> names = factor_names(operand);
    for (std::string& name : names) {
      if (!has_factor(e.y, name)) name = "[" + name + "]";
    }
    return join(names, " ");
  };
  return whole_sums(e.x) + ", " + whole_sums(e.w) + ", " +
         join(bias_factors(e, args.inputs[2].shape.size()), " ") + " -> " + e.y;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const EquationText e = split_equation(node.attrs.text("equation"));
  const ValueId x = node.inputs[0], w = node.inputs[1], bias = node.inputs[2];
  if (node.attrs.flag("relu")) {
    dy = multiply(b, dy, cast(b, greater(b, self, zeros_like(b, self)), b.type(dy).dtype));
  }
  return {einsum(b, dy, w, e.y + ", " + e.w + " -> " + e.x),
          einsum(b, x, dy, e.x + ", " + e.y + " -> " + e.w), sum_to(b, dy, b.shape(bias))};
}

double flops(const OpArgs& args) {
  const double passes = args.attrs.flag("relu") ? 2 : 1;
  return kEinsum.flops({args.inputs.first(2), args.attrs, args.output, args.collective}) +
         passes * static_cast<double>(num_elements(args.output.shape));
}

}  // namespace

const OpDef kEinsumBias{
    .name = "einsum_bias",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
};

}  // namespace meshwork::ops
