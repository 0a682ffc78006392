// The inverse of pack_chosen: of x [rows .., packed, units] and chosen [rows .., experts] the
// blocks y [rows .., experts, units], with zeros where `chosen` is 0.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].shape.size() >= 2);
  const TensorType& x = args.inputs[0];
  Shape blocks(x.shape.begin(), x.shape.end() - 1);
  blocks.back() = args.inputs[1].shape.back();
  MW_CHECK(is_floating(args.inputs[1].dtype) && args.inputs[1].shape == blocks,
           "{} are chosen, {} are packed", to_string(args.inputs[1]), to_string(x));
  blocks.push_back(x.shape.back());
  return {x.dtype, std::move(blocks)};
}

}  // namespace

const OpDef kUnpackChosen{
    .name = "unpack_chosen",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
