// y[.., c, ..] = x[.., c, ..] scale[c] + offset[c], c along `axis`
#include "base/check.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3);
  const TensorType channels{DType::kFloat32, {channel_extent(args)}};
  MW_CHECK(args.inputs[1] == channels && args.inputs[2] == channels);
  return args.inputs[0];
}

std::string rule(const OpArgs& args) {
  const std::string x = channel_names(args);
  return x + ", ch, ch -> " + x;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const ValueId x = node.inputs[0];
  const ValueId scale = node.inputs[1];
  const ValueId sums = b.add(kScaleOffsetSums, {x, dy}, node.attrs);
  const ValueId none = zeros_like(b, scale);
  return {b.add(kScaleOffset, {dy, scale, none}, node.attrs), row(b, sums, 0), row(b, sums, 1)};
}

double flops(const OpArgs& args) {
  return 2 * static_cast<double>(num_elements(args.inputs[0].shape));
}

}  // namespace

const OpDef kScaleOffset{
    .name = "scale_offset",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = flops,
    .in_place = true,
    .elementwise = true,
};

}  // namespace meshwork::ops
