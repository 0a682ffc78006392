#pragma once

#include <cstddef>
#include <string>

#include "graph/attention_options.h"
#include "graph/op_def.h"

/// What the ops of attention have in common; their operands: graph/attention_options.h.
namespace meshwork::ops {

/// Whether a node is the gradient of attention by queries, keys or values.
bool is_attention_gradient(const Node& node);

/// Checks the operands, of which `fixed` are always there.
void check_attention(const OpArgs& args, std::size_t fixed);

/// How the dimensions of a log_sum stand in rules.
std::string log_sum_rule(bool by_head);

/// The rule of one of these ops: `keys` is how s stands in it, "s" or "[s]", `result` the text of
/// the result.
std::string attention_rule(const OpArgs& args, std::size_t fixed, const std::string& keys,
                           const std::string& result);

/// Of so many products of [t, d] and [d, s] for each head, as far as causality and a window hide
/// nothing.
double attention_flops(const OpArgs& args, double products);

}  // namespace meshwork::ops
