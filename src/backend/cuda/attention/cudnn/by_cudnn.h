#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/attention/operands.h"

// Attention by cuDNN's fused kernels, where they say the same as ours: 16 bits, every key up to the
// query's place seen or all, no dropout, heads of at most 128 features in whole 16 bytes.
namespace meshwork::cuda::attention {

/// Bytes of scratch, by shapes, options and regions alone; 0 where our own kernels compute it.
std::int64_t cudnn_forward_workspace(const Request& request);
/// All three gradients in one; they need the result (graph/attention_options.h, `with_result`).
/// The gradients of all weights stand in scratch: that gives queries one order of their sums.
std::int64_t cudnn_gradients_workspace(const Request& request);

/// The results that are asked for; nothing where cuDNN is missing, or has no algorithm that gives
/// the same bits each time and adds up in float32.
std::optional<Launch> forward_by_cudnn(const Request& request);
std::optional<Launch> gradients_by_cudnn(const Request& request);

}  // namespace meshwork::cuda::attention
