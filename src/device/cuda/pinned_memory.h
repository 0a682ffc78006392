#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/cuda/gpu.h"

namespace meshwork::cuda {

/// Memory of the host that GPUs copy from and to. The driver waits for all that they do before it
/// gives such memory back, so the block that was needed last is kept for the next who asks.
class PinnedMemory {
 public:
  explicit PinnedMemory(const Gpu& gpu);

  /// Zeroed. Whoever gives it back has waited for the copies from and to it.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes);

 private:
  struct Kept;

  const Gpu& gpu_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace meshwork::cuda
