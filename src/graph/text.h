#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace meshwork {

/// Extra text for a value, such as its layout: one line, "" for none.
using Annotate = std::function<std::string(ValueId)>;

/// "forward", "backward", "update", "recompute".
std::string_view to_string(Phase phase);

/// The program as text, one line for each node, then variables, updates, gradients, named values:
///
///   %3 = einsum(%1, %2) {equation="m k, k n -> m n"} : float32[128, 200]  # d1 forward
///   variable %2 "d1/kernel" trainable init orthogonal {key=7, gain=1.0, shape=[64, 200]}
///   variable %4 "d1/bias" trainable init constant {value=0.0, shape=[200]} ones [50, 100]
///   update %2 = %9
///   gradient %2 = %8
///   output "loss" = %5
///   layer_output "d1/output" = %3
///
/// After '#' stand the path, if there is one, the phase and, in brackets, the value whose gradient
/// the node gives: `# d1 backward (of %3)`; after ';' what `annotate` says. In a local program the
/// region follows the type: `float32[64, 200] of [128, 200] at [64, 0]`. What a collective sends
/// stands among the attributes. An edge is `control %3 before %7`.
std::string print(const Graph& graph, const Annotate& annotate = {});

/// The attributes of a node, and what its collective sends, as they stand in the text form.
std::string attrs_text(const Node& node);

}  // namespace meshwork
