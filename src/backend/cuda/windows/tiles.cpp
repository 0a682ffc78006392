#include "backend/cuda/windows/tiles.h"

#include <limits>

#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda::windows {
namespace {

/// Two for each multiprocessor of the largest GPUs.
constexpr std::int64_t kManyBlocks = 264;

}  // namespace

Grid grid_of_tiles(std::int64_t blocks) {
  MW_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(), "{} blocks", blocks);
  return {blocks, kThreads};
}

std::int64_t tiles_over(std::int64_t elements, std::int64_t tile) {
  return (elements + tile - 1) / tile;
}

std::int32_t tile_count(std::int64_t elements, std::int64_t tile) {
  return static_cast<std::int32_t>(tiles_over(elements, tile));
}

Tile tile_of(std::int64_t stacks, std::int64_t rows, std::int64_t columns) {
  const std::int64_t width = columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
  const std::int64_t blocks = stacks * tiles_over(rows, 128) * tiles_over(columns, width);
  if (blocks >= kManyBlocks) return {128, width};
  return {64, width < 64 ? width : 64};
}

std::string define_tile(const Tile& tile) {
  return define("TM", tile.rows) + define("TN", tile.columns);
}

}  // namespace meshwork::cuda::windows
