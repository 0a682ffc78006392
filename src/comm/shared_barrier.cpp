#include "comm/shared_barrier.h"

#include "comm/breakable_barrier.h"
#include "comm/futex.h"

namespace meshwork {

void SharedBarrier::meet(std::uint32_t size, int spins, void (*progress)()) {
  const std::uint32_t now = generation.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
    arrived.store(0, std::memory_order_relaxed);
    generation.fetch_add(1);
    if (sleepers.load() > 0) futex_wake_all(generation);
    return;
  }
  for (int spin = 0; spin < spins; ++spin) {
    if (generation.load(std::memory_order_acquire) != now) return;
    wait_actively(spin);
  }
  sleepers.fetch_add(1);
  while (generation.load() == now) {
    futex_wait_a_millisecond(generation, now);
    if (generation.load() == now) progress();
  }
  sleepers.fetch_sub(1);
}

}  // namespace meshwork
