// What compiled kernels and the emulated driver have in common. Freestanding: kernels include it.
#pragma once

struct EmulatedGpuIndex {
  unsigned x, y, z;
};

/// Where the running thread of a kernel stands. The driver sets it at every switch of threads.
struct EmulatedGpuPlace {
  EmulatedGpuIndex thread, block, block_size, grid_size;
};

/// What a module exports for each kernel, under the kernel's name followed by `_kernel`.
struct EmulatedGpuKernel {
  void (*call)(void** arguments);  ///< one thread
  int parameters;
  const unsigned long* sizes;  ///< of the parameters, bytes
};

enum EmulatedGpuBarrier { kBarrierPlain, kBarrierOr, kBarrierAnd, kBarrierCount };
enum EmulatedGpuExchange { kExchangeNothing, kExchangeValue, kExchangeBallot };

extern "C" {
extern __thread EmulatedGpuPlace emulated_gpu_place __attribute__((tls_model("initial-exec")));
/// Waits for the living threads of the block and combines their predicates.
int emulated_gpu_barrier(EmulatedGpuBarrier kind, int predicate);
/// Waits for the living lanes of `mask`. The value of lane `source`, or the mask of those lanes
/// whose value is not zero.
unsigned long long emulated_gpu_exchange(EmulatedGpuExchange kind, unsigned mask,
                                         unsigned long long value, int source);
/// The lanes of the warp that have not ended.
unsigned emulated_gpu_living_lanes();
/// Ends the launch with a failure.
[[noreturn]] void emulated_gpu_trap();
}
