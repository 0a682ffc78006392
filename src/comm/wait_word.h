#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace meshwork {

/// The longest sleep: whoever waits looks about now and then. Below a second.
constexpr std::chrono::milliseconds kSleepTime{1};
/// The longest where other calls go on meanwhile only if they are polled.
constexpr std::chrono::microseconds kPollTime{20};

/// A number that changes while others sleep until it has; between processes too, unlike
/// std::atomic::wait. Zero bytes are a fresh one. Who changes `value` calls wake() behind it.
struct WaitWord {
  std::atomic<std::uint32_t> value;
  std::atomic<std::uint32_t> sleepers;

  /// Whether so many have arrived; counts may wrap around.
  static bool reaches(std::uint32_t count, std::uint32_t target) {
    return static_cast<std::int32_t>(count - target) >= 0;
  }
  bool has_reached(std::uint32_t target) const {
    return reaches(value.load(std::memory_order_acquire), target);
  }
  /// One more has arrived; the last one wakes who sleeps.
  void arrive(std::uint32_t target) {
    if (value.fetch_add(1) + 1 == target) wake();
  }

  void wake() {
    if (sleepers.load() > 0) wake_all();
  }
  void wake_all() { syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

  /// Sleeps unless is_over(value), until it changes or `most` has passed. A change that is
  /// followed by wake() is never missed: either it is seen here, or the sleeper is seen there.
  template <class IsOver>
  void sleep(const IsOver& is_over, std::chrono::nanoseconds most = kSleepTime) {
    sleepers.fetch_add(1);
    const std::uint32_t now = value.load();
    if (!is_over(now)) {
      const timespec time{0, most.count()};
      syscall(SYS_futex, &value, FUTEX_WAIT, now, &time, nullptr, 0);
    }
    sleepers.fetch_sub(1);
  }
};

}  // namespace meshwork
