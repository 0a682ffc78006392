// Device i along the mesh axes `axes` gets block i of the sum or maximum (`reduction`) of all x
#include <numeric>

#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

// On the first device; where blocks differ, the others have a type of their own.
TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const auto& counts = args.attrs.integers("counts");
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  MW_CHECK(!counts.empty() && sum == num_elements(args.inputs[0].shape), "{} scattered as {}",
           to_string(args.inputs[0]), to_string(counts));
  return {args.inputs[0].dtype, {counts.front()}};
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
