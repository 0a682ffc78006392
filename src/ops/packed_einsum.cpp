// sparse_einsum where the blocks of a row are packed, as pack_chosen does.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"
#include "ops/sparse_einsum.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3 && !args.inputs[2].shape.empty());
  return infer_sparse_einsum(args, args.attrs.integer("packed"));
}

}  // namespace

const OpDef kPackedEinsum{
    .name = "packed_einsum",
    .infer = infer,
    .rule = whole_rule,
    .flops = sparse_einsum_flops,
    .wide_result = true,
};

}  // namespace meshwork::ops
