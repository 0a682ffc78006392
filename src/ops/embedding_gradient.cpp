// The gradient of embedding: y[r, d] = sum of dy[.., d] where index[..] is r
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/result_dtype.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[1].dtype == DType::kInt32);
  const Shape& dy = args.inputs[0].shape;
  MW_CHECK(!dy.empty() && Shape(dy.begin(), dy.end() - 1) == args.inputs[1].shape);
  return {result_dtype(args), {args.attrs.integer("rows"), dy.back()}};
}

// "a b c, a b -> d c"
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[1].shape.size();
  return factor_names(rank + 1) + ", " + factor_names(rank) + " -> " + factor_name(rank + 1) + " " +
         factor_name(rank);
}

double flops(const OpArgs& args) { return static_cast<double>(num_elements(args.inputs[0].shape)); }

}  // namespace

const OpDef kEmbeddingGradient{
    .name = "embedding_gradient",
    .infer = infer,
    .rule = rule,
    .flops = flops,
    .linear = Linear::kFirst,
    .wide_result = true,
    .adds_rows = true,
};

}  // namespace meshwork::ops
