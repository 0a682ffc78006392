// y = sum over the factors of x and w that are not in y of x * w * chosen, of which a kernel leaves
// out the terms whose `chosen` is 0 (as MegaBlocks, Gale et al. 2023). The tensors are those of
// graph/sparse_roles.h: "t h, e h m -> t e m" where "t e" are chosen; of a row `of_row` are, which
// counts the operations. No gradient of chosen.
#include "ops/sparse_einsum.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "graph/equation_text.h"
#include "graph/sparse_roles.h"
#include "ops/ops.h"
#include "ops/result_dtype.h"

namespace meshwork::ops {

TensorType infer_sparse_einsum(const OpArgs& args, std::int64_t blocks) {
  const SparseRoles roles = sparse_roles(args.attrs);
  const TensorType& chosen = args.inputs[2];
  MW_CHECK(chosen.dtype == args.inputs[0].dtype && args.inputs[1].dtype == args.inputs[0].dtype,
           "{} of {}", to_string(chosen), to_string(args.inputs[0]));
  const auto input = [&](int role) -> const Shape& {
    return args.inputs[static_cast<std::size_t>(role)].shape;
  };
  const auto extent = [&](int role, std::size_t dim) {
    MW_CHECK(dim < input(role).size(), "{} factors, {}", dim, to_string(input(role)));
    return input(role)[dim];
  };
  const std::size_t rank = chosen.shape.size();
  const std::size_t in = roles.is_turned ? 2 : 1, out = roles.is_turned ? 1 : 2;
  const std::int64_t a = roles.rows == 2 ? extent(roles.kernels, in) : extent(roles.rows, rank - 1);
  const std::int64_t b =
      roles.spread == 2 ? extent(roles.kernels, out) : extent(roles.spread, rank);

  std::array<Shape, 3> shapes;
  const auto shape = [&](int role) -> Shape& { return shapes[static_cast<std::size_t>(role)]; };
  shape(roles.rows) = shape(roles.spread) = chosen.shape;
  shape(roles.rows).back() = a;
  shape(roles.spread).back() = blocks;
  shape(roles.spread).push_back(b);
  shape(roles.kernels) = {chosen.shape.back(), roles.is_turned ? b : a, roles.is_turned ? a : b};
  for (const int i : {0, 1}) {
    MW_CHECK(input(i) == shape(i), "{} instead of {}", to_string(input(i)), to_string(shape(i)));
  }
  return {result_dtype(args), std::move(shapes[2])};
}

double sparse_einsum_flops(const OpArgs& args) {
  const SparseRoles roles = sparse_roles(args.attrs);
  const auto extent = [&](int role) {
    const TensorType& type = role == 2 ? args.output : args.inputs[static_cast<std::size_t>(role)];
    return static_cast<double>(type.shape.back());
  };
  double rows = 1;
  const Shape& chosen = args.inputs[2].shape;
  for (std::size_t d = 0; d + 1 < chosen.size(); ++d) rows *= static_cast<double>(chosen[d]);
  const auto of_row = static_cast<double>(args.attrs.integer("of_row"));
  return 2 * rows * of_row * extent(roles.rows) * extent(roles.spread);
}

namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3 && !args.inputs[2].shape.empty());
  return infer_sparse_einsum(args, args.inputs[2].shape.back());
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

}  // namespace

const OpDef kSparseEinsum{
    .name = "sparse_einsum",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = sparse_einsum_flops,
    .linear = Linear::kEach,
    .wide_result = true,
};

}  // namespace meshwork::ops
