// y[.., c] = 1 where c is the index x[..], else 0; an index out of range gives zeros
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.inputs[0].dtype == DType::kInt32);
  const std::int64_t depth = args.attrs.integer("depth");
  MW_CHECK(depth >= 0, "depth {}", depth);
  TensorType result{DType::kFloat32, args.inputs[0].shape};
  result.shape.push_back(depth);
  return result;
}

// "a b -> a b c"
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  return factor_names(rank) + " -> " + factor_names(rank + 1);
}

}  // namespace

const OpDef kOneHot{
    .name = "one_hot",
    .infer = infer,
    .rule = rule,
    .flops = no_flops,
    .field = FieldStep::kEncode,
};

}  // namespace meshwork::ops
