#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// Blocks that stand one after the other, by the number of elements of each.
namespace meshwork {

/// Elements of all blocks.
inline std::int64_t total(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// Elements before block `index`.
inline std::int64_t offset_of(std::span<const std::int64_t> counts, std::int64_t index) {
  return total(counts.first(static_cast<std::size_t>(index)));
}

/// Elements before each block.
inline std::vector<std::int64_t> begins_of(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), std::int64_t{0});
  return begins;
}

}  // namespace meshwork
