// y[.., d] = table[index[..], d]; 0 for an index that is no row of the table
#include "base/check.h"
#include "base/error.h"
#include "graph/dim_rule.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[1].dtype == DType::kInt32);
  if (args.inputs[0].shape.size() != 2) {
    fail("no rows to take from {}: a table has two dimensions", to_string(args.inputs[0]));
  }
  TensorType result{args.inputs[0].dtype, args.inputs[1].shape};
  result.shape.push_back(args.inputs[0].shape[1]);
  return result;
}

// "d c, a b -> a b c": a device that holds a part of the rows d gives those of them, else 0.
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[1].shape.size();
  return factor_name(rank + 1) + " " + factor_name(rank) + ", " + factor_names(rank) + " -> " +
         factor_names(rank + 1);
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const std::vector<ValueId> inputs = b.node(self).inputs;
  const std::int64_t rows = b.shape(inputs[0])[0];
  return {b.add(kEmbeddingGradient, {dy, inputs[1]}, {{"rows", rows}}), kNoValue};
}

}  // namespace

const OpDef kEmbedding{
    .name = "embedding",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kFirst,
};

}  // namespace meshwork::ops
