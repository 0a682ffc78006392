#include "device/cuda/pinned_memory.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <mutex>
#include <utility>

#include "device/cuda/lost.h"

namespace meshwork::cuda {
namespace {

/// Larger blocks are few, and live long.
constexpr std::size_t kMostKept = std::size_t{8} << 20U;

struct Block {
  void* place = nullptr;
  std::size_t bytes = 0;
};

void free(const Block& block) noexcept {
  if (block.place == nullptr || is_one_lost()) return;
  static_cast<void>(driver().cuMemFreeHost(block.place));
}

}  // namespace

struct PinnedMemory::Kept {
  std::mutex mutex;
  Block block;

  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { free(block); }

  /// One of at least so many bytes; none where there is none.
  Block take(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    return block.bytes < bytes ? Block{} : std::exchange(block, {});
  }
  void give_back(Block other) noexcept {
    {
      const std::lock_guard lock(mutex);
      if (other.bytes <= kMostKept && other.bytes > block.bytes) std::swap(block, other);
    }
    free(other);
  }
};

PinnedMemory::PinnedMemory(const Gpu& gpu) : gpu_(gpu), kept_(std::make_shared<Kept>()) {}

std::shared_ptr<std::byte> PinnedMemory::allocate(std::int64_t bytes) {
  gpu_.make_current();
  const std::size_t least = static_cast<std::size_t>(bytes) + 1;
  Block block = kept_->take(least);
  if (block.place == nullptr) {
    block.bytes = least <= kMostKept ? std::bit_ceil(least) : least;  // the next may need more
    check(driver().cuMemHostAlloc(&block.place, block.bytes, CU_MEMHOSTALLOC_PORTABLE),
          fmt::format("allocating {} bytes that the GPU copies from", bytes));
  }
  std::memset(block.place, 0, least);
  return {static_cast<std::byte*>(block.place),
          [kept = kept_, block](std::byte*) { kept->give_back(block); }};
}

}  // namespace meshwork::cuda
