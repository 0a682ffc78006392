// y[0, c] = sum of x[.., c, ..], y[3, c] = factor times it, y[1, c] = sum of x[.., c, ..] - y[3,
// c], y[2, c] = sum of its square; c along `axis`: shifted_sums around a mean of x itself.
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && is_floating(args.inputs[0].dtype));
  return {DType::kFloat32, {4, channel_extent(args)}};
}

/// Sums around parts' own means are not those around the mean of all.
std::string rule(const OpArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  std::string x;
  for (std::size_t d = 0; d < args.inputs[0].shape.size(); ++d) {
    x += d == axis ? "ch " : "[" + factor_name(d) + "] ";
  }
  return x + "-> [rows] ch";
}

double flops(const OpArgs& args) {
  return 4 * static_cast<double>(num_elements(args.inputs[0].shape));
}

}  // namespace

const OpDef kChannelMoments{
    .name = "channel_moments",
    .infer = infer,
    .rule = rule,
    .flops = flops,
};

}  // namespace meshwork::ops
