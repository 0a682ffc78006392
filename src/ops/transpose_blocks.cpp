// x is rows of blocks, each row with `columns` of them and of as many elements as `counts` says in
// the same order; y has the same blocks column by column: what members sent of several values
// becomes these. [1, 2, 3, 4, 5] with counts {1, 2, 1, 1} in 2 columns gives [1, 4, 2, 3, 5].

#include "base/block_counts.h"
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const auto& counts = args.attrs.integers("counts");
  const std::int64_t columns = args.attrs.integer("columns");
  MW_CHECK(columns > 0 && std::ssize(counts) % columns == 0, "{} blocks in {} columns",
           counts.size(), columns);
  const TensorType& x = args.inputs[0];
  const std::int64_t sum = total(counts);
  MW_CHECK(x.shape == Shape{sum}, "blocks of {} elements in {}", sum, to_string(x));
  return x;
}

}  // namespace

const OpDef kTransposeBlocks{
    .name = "transpose_blocks",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
