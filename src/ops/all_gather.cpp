// y = the blocks of all members, one after the other. A member whose operand is longer than its
// block gives the first elements.
#include <numeric>

#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.collective != nullptr);
  const auto& counts = args.collective->counts;
  return {args.inputs[0].dtype, {std::accumulate(counts.begin(), counts.end(), std::int64_t{0})}};
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
