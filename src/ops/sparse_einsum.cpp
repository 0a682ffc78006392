// y = sum over the factors of x and w that are not in y of x * w * chosen, of which a kernel leaves
// out the terms whose `chosen` is 0 (as MegaBlocks, Gale et al. 2023). The tensors are those of
// graph/sparse_roles.h: "t h, e h m -> t e m" where "t e" are chosen; of a row `of_row` are, which
// counts the operations. No gradient of chosen.
#include "base/check.h"
#include "graph/equation_text.h"
#include "graph/sparse_roles.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

OpArgs without_chosen(const OpArgs& args) {
  return {args.inputs.first(2), args.attrs, args.output, args.collective};
}

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3);
  const TensorType result = kEinsum.infer(without_chosen(args));
  const SparseRoles roles = sparse_roles(args.attrs);
  Shape blocks =
      (roles.spread == 2 ? result : args.inputs[static_cast<std::size_t>(roles.spread)]).shape;
  blocks.pop_back();
  const TensorType expected{args.inputs[0].dtype, std::move(blocks)};
  MW_CHECK(args.inputs[2] == expected, "{} are chosen of {}", to_string(args.inputs[2]),
           to_string(expected));
  return result;
}

std::string rule(const OpArgs& args) {
  const EquationText e = split_equation(args.attrs.text("equation"));
  return e.x + ", " + e.w + ", " + args.attrs.text("chosen") + " -> " + e.y;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const EquationText e = split_equation(node.attrs.text("equation"));
  const ValueId x = node.inputs[0], w = node.inputs[1], chosen = node.inputs[2];
  dy = cast(b, dy, b.type(x).dtype);  // of a wide result
  const auto product = [&](ValueId left, ValueId right, const std::string& equation) {
    return b.add(kSparseEinsum, {left, right, chosen},
                 {{"equation", equation},
                  {"chosen", node.attrs.text("chosen")},
                  {"of_row", node.attrs.integer("of_row")}});
  };
  const ValueId dx = product(dy, w, e.y + ", " + e.w + " -> " + e.x);
  return {dx, product(x, dy, e.x + ", " + e.y + " -> " + e.w), kNoValue};
}

double flops(const OpArgs& args) {
  const auto experts = static_cast<double>(args.inputs[2].shape.back());
  const auto some = static_cast<double>(args.attrs.integer("of_row"));
  return experts > 0 ? kEinsum.flops(without_chosen(args)) * some / experts : 0;
}

}  // namespace

const OpDef kSparseEinsum{
    .name = "sparse_einsum",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
    .linear = Linear::kEach,
    .wide_result = true,
};

}  // namespace meshwork::ops
