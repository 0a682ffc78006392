#pragma once

#include <atomic>
#include <cstdint>

namespace meshwork {

/// A barrier in memory that processes share; zero bytes are a fresh one.
struct SharedBarrier {
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> sleepers;

  /// Waits until all `size` processes have arrived: actively for `spins` rounds, then asleep.
  /// Calls `progress` now and then while asleep. A process that dies is its launcher's business.
  void meet(std::uint32_t size, int spins, void (*progress)());
};

}  // namespace meshwork
