#pragma once

#include <cstdint>
#include <functional>

#include "backend/backend.h"

namespace meshwork::cpu {

/// The member [m, n] of a fusion group, float32, that is computed a block of rows at a time: steps
/// read it while it is in the second-level cache, and the rest of it is never there.
struct RowBlocks {
  std::int64_t block = 0;    ///< elements of a block, whole tiles; the last one may have fewer
  std::int64_t scratch = 0;  ///< numbers that `prepare` leaves for `compute`
  std::function<void(std::int32_t* scratch)> prepare = nullptr;  ///< before each pass; may be null
  /// Elements [begin, end), whole blocks, to a place of their own. Any thread may compute any
  /// block.
  std::function<void(const std::int32_t* scratch, std::int64_t begin, std::int64_t end, float* to)>
      compute = nullptr;
};

bool is_by_rows(const FusionGroup::Member& member);

/// Of inputs of the fusion, whose tiles have `tile` elements.
RowBlocks row_blocks(const FusionGroup& args, const FusionGroup::Member& member, std::int64_t tile);

/// Of a product of two matrices.
RowBlocks product_rows(const FusionGroup& args, const FusionGroup::Member& member,
                       std::int64_t block);

/// Of the gradient of a table: numbers of rows are sorted by block once, so that each block reads
/// just the gradients of its own rows, in the order in which the whole one adds them up.
RowBlocks embedding_gradient_rows(const FusionGroup& args, const FusionGroup::Member& member,
                                  std::int64_t block);

}  // namespace meshwork::cpu
