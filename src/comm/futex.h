#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace meshwork {

/// Sleeps while `word` is `value`, at most a millisecond: whoever waits looks about now and then.
/// Between processes too, unlike std::atomic::wait.
inline void futex_wait_a_millisecond(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const timespec one_millisecond{0, 1000000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &one_millisecond, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace meshwork
