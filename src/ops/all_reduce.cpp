// y = the sum or maximum of x over all members
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  return args.inputs[0];
}

}  // namespace

const OpDef kAllReduce{
    .name = "all_reduce",
    .infer = infer,
    .rule = whole_rule,
    .in_place = true,
    .collective = Collective::kAllReduce,
};

}  // namespace meshwork::ops
