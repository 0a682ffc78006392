#pragma once

#include "backend/cuda/attention/operands.h"

namespace meshwork::cuda::attention {

// Kernels of ops of attention that are computed together; at least one of their results is asked
// for. Of each they give the same bits, whatever else is asked for.

/// A node of rotary.
Launch rotary(const KernelArgs& args);

/// y, log_sum.
Launch forward(const Request& request);
std::int64_t forward_workspace(const Request& request);
/// dq.
Launch query_gradient(const Request& request);
/// dk, dv.
Launch key_gradients(const Request& request);

/// Computes the deltas of gradients that have the result instead (graph/attention_options.h) into
/// the workspace; `request` has them as an operand then.
Launch compute_deltas(Request& request);
std::int64_t deltas_workspace(const Request& request);

}  // namespace meshwork::cuda::attention
