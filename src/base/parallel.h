#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/rounded_up.h"

namespace meshwork {

/// Elements of float32 that one task of a loop takes: 64 KiB, which with an operand or two lies in
/// the cache of the core. Depends on nothing, so that results do not depend on the threads.
constexpr std::int64_t kTaskElements = 16384;

/// Elements from which on it pays to wake other threads.
constexpr std::int64_t kParallelElements = 65536;

/// Loops of this thread, and those of libraries, run on it alone while this lives, if `serial`.
class SerialScope {
 public:
  explicit SerialScope(bool serial = true) : threads_(serial ? omp_get_max_threads() : 0) {
    if (serial) omp_set_num_threads(1);
  }
  ~SerialScope() {
    if (threads_ > 0) omp_set_num_threads(threads_);
  }
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  int threads_;
};

/// Orders the tasks of a team after what their caller did before them, and before what it does
/// next. A team does so by itself. The thread sanitizer does not see it, for the libraries of
/// OpenMP are not built for it: so this says it there, and is nothing elsewhere.
class TeamOrder {
 public:
#if defined(__SANITIZE_THREAD__)
  TeamOrder() { tasks_.store(0, std::memory_order_release); }
  ~TeamOrder() { tasks_.load(std::memory_order_acquire); }
  void begin_task() { tasks_.load(std::memory_order_acquire); }
  void end_task() { tasks_.fetch_add(1, std::memory_order_release); }

 private:
  std::atomic<std::int64_t> tasks_;
#else
  void begin_task() {}
  void end_task() {}
#endif
};

/// body(task) for each task, in any order, on several threads.
template <class Body>
void for_each_task(std::int64_t tasks, const Body& body) {
  TeamOrder order;
#pragma omp parallel for schedule(static)
  for (std::int64_t task = 0; task < tasks; ++task) {
    order.begin_task();
    body(task);
    order.end_task();
  }
}

/// body(task) for each task, in any order; on several threads if `elements` are many.
template <class Body>
void for_each_task(std::int64_t tasks, std::int64_t elements, const Body& body) {
  if (tasks <= 1 || elements < kParallelElements) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  for_each_task(tasks, body);
}

/// body(begin, end) over [0, count) in one part for each thread, of which none writes what another
/// reads; `elements` as above. For loops whose results do not depend on where parts begin.
template <class Body>
void for_each_share(std::int64_t count, std::int64_t elements, const Body& body) {
  const std::int64_t shares = elements < kParallelElements ? 1 : omp_get_max_threads();
  for_each_task(shares, elements, [&](std::int64_t share) {
    body(count * share / shares, count * (share + 1) / shares);
  });
}

/// body(begin, end) over [0, count) in parts of kTaskElements.
template <class Body>
void for_each_range(std::int64_t count, const Body& body) {
  for_each_task(ceil_divide(count, kTaskElements), count, [&](std::int64_t task) {
    const std::int64_t begin = task * kTaskElements;
    body(begin, begin + kTaskElements < count ? begin + kTaskElements : count);
  });
}

/// Sets bytes to 0.
inline void set_zero(std::byte* data, std::int64_t bytes) {
  constexpr std::int64_t kTaskBytes = 4 * kTaskElements;
  for_each_task(ceil_divide(bytes, kTaskBytes), bytes / 4, [&](std::int64_t task) {
    const std::int64_t begin = task * kTaskBytes;
    std::memset(data + begin, 0, static_cast<std::size_t>(std::min(kTaskBytes, bytes - begin)));
  });
}

}  // namespace meshwork
