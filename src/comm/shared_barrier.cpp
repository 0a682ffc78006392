#include "comm/shared_barrier.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "comm/breakable_barrier.h"

namespace meshwork {
namespace {

// std::atomic::wait works within one process only.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void SharedBarrier::meet(std::uint32_t size, int spins, void (*progress)()) {
  const std::uint32_t now = generation.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
    arrived.store(0, std::memory_order_relaxed);
    generation.fetch_add(1);
    if (sleepers.load() > 0) futex(generation, FUTEX_WAKE, INT_MAX, nullptr);
    return;
  }
  for (int spin = 0; spin < spins; ++spin) {
    if (generation.load(std::memory_order_acquire) != now) return;
    wait_actively(spin);
  }
  sleepers.fetch_add(1);
  while (generation.load() == now) {
    const timespec one_millisecond{0, 1000000};
    futex(generation, FUTEX_WAIT, now, &one_millisecond);
    if (generation.load() == now) progress();
  }
  sleepers.fetch_sub(1);
}

}  // namespace meshwork
