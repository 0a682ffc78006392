// y = the blocks of x with `extents` along `dim`, each row-major, one after the other: what devices
// send to each other is contiguous. [[1, 2, 3], [4, 5, 6]] with extents {2, 1} along 1 gives
// [1, 2, 4, 5, 3, 6].
#include "ops/pack.h"

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& shape = args.inputs[0].shape;
  check_blocks(shape, args.attrs.integer("dim"), args.attrs.integers("extents"));
  return {args.inputs[0].dtype, {num_elements(shape)}};
}

}  // namespace

void check_blocks(const Shape& shape, std::int64_t dim, const std::vector<std::int64_t>& extents) {
  MW_CHECK(dim >= 0 && dim < static_cast<std::int64_t>(shape.size()) &&
               total(extents) == shape[static_cast<std::size_t>(dim)],
           "blocks of {} along dimension {} of {}", to_string(extents), dim, to_string(shape));
}

const OpDef kPack{
    .name = "pack",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
