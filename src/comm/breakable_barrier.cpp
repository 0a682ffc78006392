#include "comm/breakable_barrier.h"

#include "base/check.h"

namespace meshwork {
namespace {

constexpr std::uint32_t kBroken = 1;
constexpr std::uint32_t kOneArrived = 2;
constexpr std::uint32_t kOneGeneration = 1U << 16U;

std::uint32_t arrived(std::uint32_t state) { return (state % kOneGeneration) / kOneArrived; }
std::uint32_t generation(std::uint32_t state) { return state / kOneGeneration; }

}  // namespace

BreakableBarrier::BreakableBarrier(int size, int spins)
    : size_(static_cast<std::uint32_t>(size)), spins_(spins) {
  MW_CHECK(size > 0 && size < 32768, "{} threads", size);
}

bool BreakableBarrier::meet() { return arrive(true); }

void BreakableBarrier::meet_even_if_broken() { arrive(false); }

void BreakableBarrier::break_up() noexcept {
  state_.fetch_or(kBroken, std::memory_order_acq_rel);
  state_.notify_all();
}

bool BreakableBarrier::arrive(bool breakable) {
  std::uint32_t state = state_.load(std::memory_order_acquire);
  std::uint32_t next = 0;
  bool last = false;
  do {
    if (breakable && (state & kBroken) != 0) return false;
    last = arrived(state) + 1 == size_;
    next =
        last ? (generation(state) + 1) * kOneGeneration + (state & kBroken) : state + kOneArrived;
  } while (!state_.compare_exchange_weak(state, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire));
  if (last) {
    state_.notify_all();
    return true;
  }
  for (int spin = 0;; ++spin) {
    const std::uint32_t now = state_.load(std::memory_order_acquire);
    if (generation(now) != generation(state)) return true;
    if (breakable && (now & kBroken) != 0) return false;
    if (spin < spins_) {
      wait_actively(spin);
    } else {
      state_.wait(now, std::memory_order_acquire);
    }
  }
}

}  // namespace meshwork
