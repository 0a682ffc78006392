// y = pieces of `extents` along `dim`, joined: piece number `own` is x[start .. start + extent],
// the others stand in `pieces`, each row-major, one after the other. (x, pieces)

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0].dtype == args.inputs[1].dtype);
  const Shape& x = args.inputs[0].shape;
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto own = static_cast<std::size_t>(args.attrs.integer("own"));
  const auto& extents = args.attrs.integers("extents");
  MW_CHECK(dim < x.size() && own < extents.size());
  MW_CHECK(extents[own] == 0 || args.attrs.integer("start") + extents[own] <= x[dim]);
  TensorType result = args.inputs[0];
  result.shape[dim] = extents[own];
  const std::int64_t kept = num_elements(result.shape);
  result.shape[dim] = total(extents);
  MW_CHECK(args.inputs[1].shape == Shape{num_elements(result.shape) - kept}, "pieces of {} for {}",
           to_string(args.inputs[1]), to_string(result));
  return result;
}

}  // namespace

const OpDef kHaloUnpack{
    .name = "halo_unpack",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
