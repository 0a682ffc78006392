// y[0, c] = sum of x[.., c, ..], y[1, c] = sum of x[.., c, ..] - shift[c], y[2, c] = sum of its
// square; c along `axis`. Around a shift near the mean the variance y[2] / n - (y[1] / n)^2 keeps
// its digits where the mean is large beside the deviation. Neither mean nor variance depends on the
// shift: it is taken for a constant.
#include "base/check.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2);
  const std::int64_t channels = channel_extent(args);
  MW_CHECK(args.inputs[1] == (TensorType{DType::kFloat32, {channels}}));
  return {DType::kFloat32, {3, channels}};
}

std::string rule(const OpArgs& args) {
  const std::string x = channel_names(args);
  return x + ", ch -> [rows] ch";
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId shift = node.inputs[1];
  // dx = dy[0] + dy[1] + 2 (x - shift) dy[2]
  const ValueId scale = ops::scale(b, row(b, dy, 2), 2);
  const ValueId of_shifted = row(b, dy, 1);
  const ValueId of_sums = add(b, row(b, dy, 0), of_shifted);
  const ValueId offset = subtract(b, of_sums, multiply(b, scale, shift));
  return {b.add(kScaleOffset, {node.inputs[0], scale, offset}, node.attrs), kNoValue};
}

double flops(const OpArgs& args) {
  return 3 * static_cast<double>(num_elements(args.inputs[0].shape));
}

}  // namespace

const OpDef kShiftedSums{
    .name = "shifted_sums",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
    .reduce_eagerly = true,
};

}  // namespace meshwork::ops
