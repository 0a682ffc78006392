#include "comm/breakable_barrier.h"

#include "base/check.h"
#include "base/wait.h"

namespace meshwork {
namespace {

constexpr std::uint32_t kBroken = 1;
constexpr std::uint32_t kOneArrived = 2;
constexpr std::uint32_t kOneGeneration = 1U << 16U;

std::uint32_t arrived(std::uint32_t state) { return (state % kOneGeneration) / kOneArrived; }
std::uint32_t generation(std::uint32_t state) { return state / kOneGeneration; }

}  // namespace

BreakableBarrier::BreakableBarrier(int size, std::chrono::nanoseconds spin)
    : size_(static_cast<std::uint32_t>(size)), spin_(spin) {
  MW_CHECK(size > 0 && size < 32768, "{} threads", size);
}

bool BreakableBarrier::meet() { return arrive(true); }

void BreakableBarrier::meet_even_if_broken() { arrive(false); }

void BreakableBarrier::break_up() noexcept {
  state_.value.fetch_or(kBroken);
  state_.wake();
}

bool BreakableBarrier::arrive(bool breakable) {
  std::uint32_t state = state_.value.load(std::memory_order_acquire);
  std::uint32_t next = 0;
  bool last = false;
  do {
    if (breakable && (state & kBroken) != 0) return false;
    last = arrived(state) + 1 == size_;
    next =
        last ? (generation(state) + 1) * kOneGeneration + (state & kBroken) : state + kOneArrived;
  } while (!state_.value.compare_exchange_weak(state, next));
  if (last) {
    state_.wake();
    return true;
  }
  const auto has_met = [&](std::uint32_t now) { return generation(now) != generation(state); };
  const auto is_over = [&](std::uint32_t now) {
    return has_met(now) || (breakable && (now & kBroken) != 0);
  };
  Spin spin(spin_);
  std::uint32_t now = state_.value.load(std::memory_order_acquire);
  for (; !is_over(now); now = state_.value.load(std::memory_order_acquire)) {
    if (!spin.again()) state_.sleep(is_over);
  }
  return has_met(now);
}

}  // namespace meshwork
