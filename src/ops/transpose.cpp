// y[i_perm[0], i_perm[1], ..] = x[i_0, i_1, ..]: dimension d of y is dimension perm[d] of x
#include <algorithm>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& x = args.inputs[0].shape;
  const auto& perm = args.attrs.integers("perm");
  MW_CHECK(perm.size() == x.size(), "{} dimensions permuted of {}", perm.size(), to_string(x));
  std::vector<bool> taken(x.size(), false);
  TensorType result{args.inputs[0].dtype, {}};
  for (const std::int64_t dim : perm) {
    const auto d = static_cast<std::size_t>(dim);
    MW_CHECK(d < x.size() && !taken[d], "{} is no permutation", to_string(perm));
    taken[d] = true;
    result.shape.push_back(x[d]);
  }
  return result;
}

std::string rule(const OpArgs& args) {
  std::string right;
  for (const std::int64_t dim : args.attrs.integers("perm")) {
    right += " " + factor_name(static_cast<std::size_t>(dim));
  }
  return factor_names(args.inputs[0].shape.size()) + " ->" + right;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<std::int64_t> perm = b.node(self).attrs.integers("perm");
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d) {
    inverse[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
  }
  return {transpose(b, dy, std::move(inverse))};
}

}  // namespace

const OpDef kTranspose{
    .name = "transpose",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kJointly,
};

ValueId transpose(GraphBuilder& b, ValueId x, std::vector<std::int64_t> perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return b.add(kTranspose, {x}, {{"perm", std::move(perm)}});
}

}  // namespace meshwork::ops
