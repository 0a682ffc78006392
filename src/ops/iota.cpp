// y[.., i, ..] = i along dimension `dim`, counted over the whole (global) tensor
#include "base/check.h"
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  const TensorType type = infer_leaf(args);
  const std::int64_t dim = args.attrs.integer("dim");
  MW_CHECK(dim >= 0 && dim < static_cast<std::int64_t>(type.shape.size()), "dimension {} of {}",
           dim, to_string(type.shape));
  return type;
}

}  // namespace

const OpDef kIota{
    .name = "iota",
    .infer = infer,
    .rule = leaf_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
