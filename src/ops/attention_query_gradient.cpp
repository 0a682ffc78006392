// dq[b, t, g, r, d] = scale times the sum over s of p (dp - delta) k[b, s, g, d], where p are the
// weights of attention and dp = dy v their gradients
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionGradientOperands);
  return args.inputs[0];
}

// "b t g r [d], b s g [d], b s g [e], b t g r [e], b t g r, b t g r -> b t g r [d]"
std::string rule(const OpArgs& args) {
  return attention_rule(args, kAttentionGradientOperands, "s", "b t g r [d]");
}

double flops(const OpArgs& args) { return attention_flops(args, 3); }

}  // namespace

const OpDef kAttentionQueryGradient{
    .name = "attention_query_gradient",
    .infer = infer,
    .rule = rule,
    .flops = flops,
};

}  // namespace meshwork::ops
