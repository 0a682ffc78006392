// y[b, t, g, r] = log of the sum over s of exp(scale q k), over the keys s that a query sees.
// It takes what attention takes, though it needs neither values nor dropout: so both can be
// computed together.
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionOperands);
  const Shape& q = args.inputs[0].shape;
  return {DType::kFloat32, {q.begin(), q.end() - 1}};
}

// "b t g r [d], b [s] g [d], b [s] g [e] -> b t g r"
std::string rule(const OpArgs& args) {
  return attention_rule(args, kAttentionOperands, "[s]", "b t g r");
}

double flops(const OpArgs& args) { return attention_flops(args, 1); }

}  // namespace

const OpDef kAttentionLogSum{
    .name = "attention_log_sum",
    .infer = infer,
    .rule = rule,
    .flops = flops,
};

}  // namespace meshwork::ops
