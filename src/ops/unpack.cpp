// The inverse of pack: y has `shape`, and x is its blocks with `extents` along `dim`, each
// row-major, one after the other
#include "base/check.h"
#include "ops/ops.h"
#include "ops/pack.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& shape = args.attrs.integers("shape");
  check_blocks(shape, args.attrs.integer("dim"), args.attrs.integers("extents"));
  MW_CHECK(num_elements(args.inputs[0].shape) == num_elements(shape), "{} unpacked to {}",
           to_string(args.inputs[0]), to_string(shape));
  return {args.inputs[0].dtype, shape};
}

}  // namespace

const OpDef kUnpack{
    .name = "unpack",
    .infer = infer,
    .rule = whole_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops
