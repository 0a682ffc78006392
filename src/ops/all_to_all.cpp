// Block j of x goes to member j; block i of y comes from member i

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.collective != nullptr);
  const auto& sent = args.collective->counts;
  const auto& received = args.collective->recv_counts;
  MW_CHECK(sent.size() == received.size() && total(sent) == num_elements(args.inputs[0].shape),
           "{} sent as {}", to_string(args.inputs[0]), to_string(sent));
  return {args.inputs[0].dtype, {total(received)}};
}

}  // namespace

const OpDef kAllToAll{
    .name = "all_to_all",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
    .collective = Collective::kAllToAll,
};

}  // namespace meshwork::ops
