// The gradients of scale_offset with respect to scale and offset:
// y[0, c] = sum of x[.., c, ..] dy[.., c, ..], y[1, c] = sum of dy[.., c, ..]
#include "base/check.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && args.inputs[0] == args.inputs[1]);
  return {DType::kFloat32, {2, channel_extent(args)}};
}

std::string rule(const OpArgs& args) {
  const std::string x = channel_names(args);
  return x + ", " + x + " -> [rows] ch";
}

double flops(const OpArgs& args) {
  return 3 * static_cast<double>(num_elements(args.inputs[0].shape));
}

}  // namespace

const OpDef kScaleOffsetSums{
    .name = "scale_offset_sums",
    .infer = infer,
    .rule = rule,
    .flops = flops,
    .reduce_eagerly = true,
};

}  // namespace meshwork::ops
