#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/reduction.h"

namespace meshwork {

/// out[i] = inputs[0][i] + inputs[1][i] + ... (or the maximum) for i < count, in the canonical
/// order of communicator.h: the left half is the largest power of two below the number of inputs.
/// Integers wrap around; the maximum of floats is NaN where any of them is.
/// `out` may be one of the inputs, otherwise it overlaps none. kFloat32, kInt32 or kInt64.
///
///     tree_reduce({a, b, c, d, e}, out, ...)   // out = ((a + b) + (c + d)) + e
void tree_reduce(std::span<const void* const> inputs, void* out, std::int64_t count, DType dtype,
                 Reduction reduction);

}  // namespace meshwork
