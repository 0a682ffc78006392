// y[b, t, g, r] = log of the sum over s of exp(scale q k), over the keys s that a query sees; by
// head y[b, g, r, t]. It takes what attention takes, though it needs neither values nor dropout: so
// both can be computed together.
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionOperands);
  const bool by_head = attention_options(args.attrs).by_head;
  return {DType::kFloat32, log_sum_shape(args.inputs[0].shape, by_head)};
}

// "b t g r [d], b [s] g [d], b [s] g [e] -> b t g r"
std::string rule(const OpArgs& args) {
  const bool by_head = attention_options(args.attrs).by_head;
  return attention_rule(args, kAttentionOperands, "[s]", log_sum_rule(by_head));
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
