// Member i gets block i of the sum or maximum of all x

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.collective != nullptr);
  const auto& counts = args.collective->counts;
  const auto own = static_cast<std::size_t>(args.collective->own);
  MW_CHECK(own < counts.size() && total(counts) == num_elements(args.inputs[0].shape),
           "{} scattered as {}", to_string(args.inputs[0]), to_string(counts));
  return {args.inputs[0].dtype, {counts[own]}};
}

double flops(const OpArgs& args) { return static_cast<double>(num_elements(args.inputs[0].shape)); }

}  // namespace

const OpDef kReduceScatter{
    .name = "reduce_scatter",
    .infer = infer,
    .rule = whole_rule,
    .flops = flops,
    .collective = Collective::kReduceScatter,
};

}  // namespace meshwork::ops
