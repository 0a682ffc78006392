// Of blocks x [rows .., experts, units] and chosen [rows .., experts]: y [rows .., packed, units]
// has of each row the blocks whose `chosen` is not 0, the first `packed` of them, in their order
// and behind them zeros.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].shape.size() >= 2);
  TensorType result = args.inputs[0];
  const Shape blocks(result.shape.begin(), result.shape.end() - 1);
  MW_CHECK(is_floating(args.inputs[1].dtype) && args.inputs[1].shape == blocks,
           "{} are chosen of {}", to_string(args.inputs[1]), to_string(result));
  result.shape.end()[-2] = args.attrs.integer("packed");
  return result;
}

}  // namespace

const OpDef kPackChosen{
    .name = "pack_chosen",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
