#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"

namespace meshwork {

/// Appends the backward pass of the scalar `loss`, times `scale` where there is one, and returns
/// its gradient with respect to each of `wrt`, kNoValue where the loss does not depend on it.
/// Reverse mode: every op is asked once for the gradients of its inputs; nodes that do not lead to
/// `wrt` are not visited. The nodes take the path of the forward node they belong to, and
/// Phase::kBackward.
std::vector<ValueId> gradients(GraphBuilder& b, ValueId loss, std::span<const ValueId> wrt,
                               ValueId scale = kNoValue);

/// The same for the output "loss" and all trainable variables, in graph.gradients: those of which
/// the loss does not depend have none.
void add_gradients(Graph& graph, ValueId scale = kNoValue);

}  // namespace meshwork
