// The gradients of attention, with weights p and their gradients dp = dy v:
// dq[b, t, g, r, d] = scale times the sum over s of p (dp - delta) k[b, s, g, d]
// dk[b, s, g, d]    = scale times the sum over t and r of p (dp - delta) q[b, t, g, r, d]
// dv[b, s, g, e]    = the sum over t and r of p dy[b, t, g, r, e]
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

/// The operand whose gradient it is.
enum Operand : std::size_t { kQuery, kKey, kValue };

template <Operand kOf>
TensorType infer(const OpArgs& args) {
  check_attention(args, kAttentionGradientOperands);
  return args.inputs[kOf];
}

// "b t g r [d], b s g [d], b s g [e], b t g r [e], b t g r, b t g r -> b t g r [d]"
template <Operand kOf>
std::string rule(const OpArgs& args) {
  constexpr const char* kResults[] = {"b t g r [d]", "b s g [d]", "b s g [e]"};
  return attention_rule(args, kAttentionGradientOperands, "s", kResults[kOf]);
}

template <Operand kOf>
double flops(const OpArgs& args) {
  return attention_flops(args, kOf == kValue ? 2 : 3);
}

template <Operand kOf>
constexpr OpDef gradient(std::string_view name) {
  return {.name = name, .infer = infer<kOf>, .rule = rule<kOf>, .flops = flops<kOf>};
}

}  // namespace

const OpDef kAttentionQueryGradient = gradient<kQuery>("attention_query_gradient");
const OpDef kAttentionKeyGradient = gradient<kKey>("attention_key_gradient");
const OpDef kAttentionValueGradient = gradient<kValue>("attention_value_gradient");

}  // namespace meshwork::ops
