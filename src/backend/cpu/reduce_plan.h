#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace meshwork::cpu {

/// Kept columns that are folded at a time: so few that their results stay in the first cache.
constexpr std::int64_t kKeptPart = 1024;

/// A reduction as out[p, c] = fold over q of x[p, q, c] (rows of `columns` contiguous elements that
/// are kept), or out[p] = fold over q and c (rows that are reduced themselves). p and q run over
/// the dimensions before the last, merged where they can be. Rows, or parts of them, are folded in
/// blocks whose number depends on the shape alone; the results of blocks are folded in order.
struct ReducePlan {
  std::int64_t kept = 1;     ///< extent of p
  std::int64_t reduced = 1;  ///< extent of q
  std::int64_t columns = 1;  ///< extent of c
  bool reduces_columns = false;

  std::int64_t part = 1;    ///< of a row: columns that are taken at a time
  std::int64_t parts = 1;   ///< of a row
  std::int64_t block = 1;   ///< rows (parts of rows if they are reduced) that a block folds
  std::int64_t blocks = 1;  ///< for each p

  Shape kept_extents, kept_strides;  ///< of p, in x
  Shape reduced_extents, reduced_strides;

  /// Where row (p, q) begins in x.
  std::int64_t row(std::int64_t p, std::int64_t q) const;
  std::int64_t elements() const { return kept * reduced * columns; }
  /// Elements of the result: results of a block have as many for each p.
  std::int64_t width() const { return reduces_columns ? 1 : columns; }
};

/// `x` has no extent of zero.
ReducePlan plan_reduce(const Shape& x, const std::vector<std::int64_t>& axes);

}  // namespace meshwork::cpu
