// dv[b, s, g, e] = the sum over t and r of p dy[b, t, g, r, e], where p are the weights of
// attention
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionGradientOperands);
  return args.inputs[2];
}

// "b t g r [d], b s g [d], b s g [e], b t g r [e], b t g r, b t g r -> b s g [e]"
std::string rule(const OpArgs& args) {
  return attention_rule(args, kAttentionGradientOperands, "s", "b s g [e]");
}

double flops(const OpArgs& args) { return attention_flops(args, 2); }

}  // namespace

const OpDef kAttentionValueGradient{
    .name = "attention_value_gradient",
    .infer = infer,
    .rule = rule,
    .flops = flops,
};

}  // namespace meshwork::ops
