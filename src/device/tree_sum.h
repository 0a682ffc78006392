#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

/// A part of the canonical tree that is reduced by itself: so many leaves from one on.
struct Subtree {
  int first = 0;
  int leaves = 1;
};

/// The largest subtrees of a tree of so many leaves that have none but leaves for which `has` is
/// true, from left to right: all of these leaves.
std::vector<Subtree> whole_subtrees(int leaves, const std::function<bool(int)>& has);

/// The same where input j is what has become of subtree j: the subtrees are in order and make up
/// the whole tree.
void tree_reduce(std::span<const void* const> inputs, std::span<const Subtree> subtrees, void* out,
                 std::int64_t count, DType dtype, Reduction reduction);

}  // namespace meshwork
