#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/executable.h"

namespace meshwork {

/// Small tensors of a device, in few copies from or to a block of staging memory: those that stand
/// near each other are one, with what lies between them.
struct PackedCopy {
  struct Range {
    std::byte* device = nullptr;
    std::int64_t staged = 0;  ///< bytes into the block
    std::int64_t bytes = 0;
  };
  std::vector<std::int64_t> places;  ///< of each tensor in the block; kNowhere: it has no data
  std::vector<Range> ranges;
  std::int64_t bytes = 0;  ///< of the block

  static constexpr std::int64_t kNowhere = -1;

  PackedCopy() = default;
  /// Fewer than `gap` bytes lie between neighbours. What is copied to the device must leave what
  /// lies between alone: there it is the alignment of values, behind each of which nothing else
  /// stands before that.
  PackedCopy(std::span<const TensorView> tensors, std::int64_t gap);
};

}  // namespace meshwork
