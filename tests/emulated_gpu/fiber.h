#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulated_gpu {

/// A stack and where it stands. One made without `prepare` is that of the thread that switches
/// away from it first.
class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Forgets what it did: the next switch to it calls `entry`, which never returns.
  void prepare(void (*entry)(void*), void* argument);

  /// Goes on with `next`; returns when something switches to `from`.
  static void go(Fiber& from, Fiber& next);

 private:
  static constexpr std::size_t kStack = std::size_t{256} << 10U;

  std::byte* stack_ = nullptr;  ///< its lowest page is out of reach
#if defined(__x86_64__)
  void* top_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

}  // namespace emulated_gpu
