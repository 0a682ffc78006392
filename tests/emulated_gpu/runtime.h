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
enum EmulatedGpuExchange { kExchangeNothing, kExchangeValue, kExchangeBallot, kExchangeWork };

extern "C" {
extern __thread EmulatedGpuPlace emulated_gpu_place __attribute__((tls_model("initial-exec")));
/// Waits for the living threads of the block and combines their predicates.
int emulated_gpu_barrier(EmulatedGpuBarrier kind, int predicate);
/// Waits for the living lanes of `mask`. The value of lane `source`, or the mask of those lanes
/// whose value is not zero.
unsigned long long emulated_gpu_exchange(EmulatedGpuExchange kind, unsigned mask,
                                         unsigned long long value, int source);
/// PTX's ldmatrix.x4 and mma.m16n8k16, of all lanes of the warp: `row` is this lane's of eight
/// numbers, at a multiple of 16 bytes; `to`, `a` and `c` have four words, `b` two.
void emulated_gpu_load_matrices(unsigned* to, const void* row, bool transposed);
void emulated_gpu_multiply_add(float* c, const unsigned* a, const unsigned* b, bool is_bfloat16);
/// The lanes of the warp that have not ended.
unsigned emulated_gpu_living_lanes();
/// Ends the launch with a failure.
[[noreturn]] void emulated_gpu_trap();
}
