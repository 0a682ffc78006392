// y = the blocks of all members, one after the other. A member whose operand is longer than its
// block gives the first elements.

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.collective != nullptr);
  return {args.inputs[0].dtype, {total(args.collective->counts)}};
}

}  // namespace

const OpDef kAllGather{
    .name = "all_gather",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
    .collective = Collective::kAllGather,
};

}  // namespace meshwork::ops
