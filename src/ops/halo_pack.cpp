// y = the pieces x[starts[i] .. starts[i] + extents[i]] along `dim`, each row-major, one after the
// other: what a device sends to the ones whose windows overlap its part
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& x = args.inputs[0].shape;
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto& starts = args.attrs.integers("starts");
  const auto& extents = args.attrs.integers("extents");
  MW_CHECK(dim < x.size() && starts.size() == extents.size());
  Shape piece = x;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    MW_CHECK(extents[i] == 0 || (starts[i] >= 0 && starts[i] + extents[i] <= x[dim]),
             "{} elements from {} on of dimension {} of {}", extents[i], starts[i], dim,
             to_string(x));
    piece[dim] = extents[i];
    count += num_elements(piece);
  }
  return {args.inputs[0].dtype, {count}};
}

}  // namespace

const OpDef kHaloPack{
    .name = "halo_pack",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
