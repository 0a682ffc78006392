#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace meshwork {

/// Rounds to wait actively where every member has a core: some 100 us, longer than members of a
/// step usually differ, shorter than a scheduler's slice.
constexpr int kSpins = 20000;

/// The meeting point of `size` threads, again and again, until someone breaks it. Waits actively
/// for `spins` rounds, then sleeps.
class BreakableBarrier {
 public:
  BreakableBarrier(int size, int spins);

  /// Returns true when all have arrived, false if the barrier was broken before: one meeting ends
  /// the same way for all. Once broken, no later meeting takes place.
  bool meet();

  /// A meeting to which all are sure to come without waiting for anything else: takes place even
  /// when broken, so that nobody's memory goes away while another still reads it.
  void meet_even_if_broken();

  void break_up() noexcept;

 private:
  bool arrive(bool breakable);

  std::uint32_t size_;
  int spins_;
  // generation (16 bits), arrived (15), broken (1): one word, so that no meeting can be both
  // complete and broken.
  alignas(64) std::atomic<std::uint32_t> state_{0};
};

/// One round of waiting actively: tells the processor so, and now and then lets another thread have
/// the core, which may be the very one that is waited for.
inline void wait_actively(int round) {
  constexpr int kRoundsBetweenYields = 1024;  // some 10 us
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
  if (round % kRoundsBetweenYields == kRoundsBetweenYields - 1) sched_yield();
}

}  // namespace meshwork
