#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulated_gpu/fiber.h"
#include "emulated_gpu/runtime.h"

namespace emulated_gpu {

struct Memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};

/// A kernel with its arguments, ready to run.
struct Launch {
  std::string name;
  void (*call)(void** arguments) = nullptr;
  void** arguments = nullptr;
  Extent grid, block;
  Memory shared;
};

/// Runs the threads of a block as fibers of one thread of the system. A fiber runs thread after
/// thread until one waits; so a kernel without barriers needs a single one.
class BlockRunner {
 public:
  /// All blocks, one after the other; false after a trap.
  bool run(const Launch& launch);

  /// What threads of the kernel call.
  int barrier(EmulatedGpuBarrier kind, int predicate);
  std::uint64_t exchange(EmulatedGpuExchange kind, unsigned mask, std::uint64_t value, int source);
  unsigned living_lanes() const;
  [[noreturn]] void trap();

  const std::string& name() const { return launch_.name; }

  /// The runner whose kernel runs on this thread of the system; nullptr without.
  static BlockRunner* current();

 private:
  enum class State : std::uint8_t { kRunning, kAtBarrier, kAtExchange };
  struct Thread {
    Fiber* fiber = nullptr;
    State state = State::kRunning;
    int kind = 0;  ///< of the barrier or exchange
    unsigned mask = 0;
    int source = 0;
    std::uint64_t value = 0;   ///< brought to it
    std::uint64_t result = 0;  ///< taken from it
  };
  struct Warp {
    unsigned living = 0;
    unsigned waiting = 0;  ///< at an exchange
  };

  static void enter(void* runner);
  bool run_block(std::uint64_t number);
  void run_threads();
  void finish();
  void stand_at(int thread);
  void wait();
  Fiber& next_fiber();
  void release_barrier();
  void try_exchange(Warp& warp, int first);
  void work_together(const Thread* lanes, unsigned group) const;
  /// Tells where the threads wait, and ends the process.
  [[noreturn]] void stuck(const char* why) const;

  Launch launch_;
  int count_ = 0;  ///< threads of a block
  int next_ = 0;   ///< the first that has not begun
  int living_ = 0;
  int arrived_ = 0;  ///< at the barrier
  int thread_ = 0;   ///< that runs
  bool trapped_ = false;
  bool backwards_ = false;  ///< the last thread begins first
  Fiber* fiber_ = nullptr;  ///< that runs
  Fiber main_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<int> ready_;  ///< threads, first in first out from `ready_first_`
  std::size_t ready_first_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
};

/// The kernel that runs on this thread of the system; nullptr without.
const char* running_kernel();

}  // namespace emulated_gpu
