// What threads of a kernel do together: barriers, exchanges within a warp, atomics.
#pragma once

inline void __syncthreads() { emulated_gpu_barrier(kBarrierPlain, 0); }
inline int __syncthreads_or(int predicate) { return emulated_gpu_barrier(kBarrierOr, predicate); }
inline int __syncthreads_and(int predicate) { return emulated_gpu_barrier(kBarrierAnd, predicate); }
inline int __syncthreads_count(int predicate) {
  return emulated_gpu_barrier(kBarrierCount, predicate);
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) {
  emulated_gpu_exchange(kExchangeNothing, mask, 0, 0);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(
      emulated_gpu_exchange(kExchangeBallot, mask, predicate != 0 ? 1 : 0, 0));
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
inline unsigned __activemask() { return emulated_gpu_living_lanes(); }

namespace emulated_gpu {

inline int lane() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) %
                          32U);
}

template <class T>
inline T exchange(unsigned mask, T value, int source) {
  unsigned long long word = 0;
  __builtin_memcpy(&word, &value, sizeof value);
  word = emulated_gpu_exchange(kExchangeValue, mask, word, source);
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

/// The source that lies in the same part of `width` lanes, or the lane itself.
inline int within(int source, int width) {
  const int here = lane();
  return source / width == here / width && source >= 0 ? source : here;
}

}  // namespace emulated_gpu

#define EMULATED_GPU_EXCHANGES(T)                                                        \
  inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {             \
    const int first = emulated_gpu::lane() / width * width;                              \
    return emulated_gpu::exchange(mask, value, first + (source & (width - 1)));          \
  }                                                                                      \
  inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {           \
    const int source = emulated_gpu::lane() ^ bits;                                      \
    return emulated_gpu::exchange(mask, value, emulated_gpu::within(source, width));     \
  }                                                                                      \
  inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) { \
    const int source = emulated_gpu::lane() + static_cast<int>(distance);                \
    return emulated_gpu::exchange(mask, value, emulated_gpu::within(source, width));     \
  }                                                                                      \
  inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {   \
    const int source = emulated_gpu::lane() - static_cast<int>(distance);                \
    return emulated_gpu::exchange(mask, value, emulated_gpu::within(source, width));     \
  }
EMULATED_GPU_EXCHANGES(int)
EMULATED_GPU_EXCHANGES(unsigned)
EMULATED_GPU_EXCHANGES(long)
EMULATED_GPU_EXCHANGES(unsigned long)
EMULATED_GPU_EXCHANGES(long long)
EMULATED_GPU_EXCHANGES(unsigned long long)
EMULATED_GPU_EXCHANGES(float)
EMULATED_GPU_EXCHANGES(double)
#undef EMULATED_GPU_EXCHANGES

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
[[noreturn]] inline void __trap() { emulated_gpu_trap(); }

template <class T>
inline T __ldg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
inline void __stcs(T* address, T value) {
  *address = value;
}

// None in float: the order of their sums would show.
#define EMULATED_GPU_ATOMICS(T)                                                                \
  inline T atomicAdd(T* address, T value) {                                                    \
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);                               \
  }                                                                                            \
  inline T atomicSub(T* address, T value) {                                                    \
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);                               \
  }                                                                                            \
  inline T atomicOr(T* address, T value) {                                                     \
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);                                \
  }                                                                                            \
  inline T atomicAnd(T* address, T value) {                                                    \
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);                               \
  }                                                                                            \
  inline T atomicXor(T* address, T value) {                                                    \
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);                               \
  }                                                                                            \
  inline T atomicExch(T* address, T value) {                                                   \
    return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);                              \
  }                                                                                            \
  inline T atomicCAS(T* address, T expected, T value) {                                        \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED,            \
                                __ATOMIC_RELAXED);                                             \
    return expected;                                                                           \
  }                                                                                            \
  inline T atomicMax(T* address, T value) {                                                    \
    T held = *address;                                                                         \
    while (held < value && !__atomic_compare_exchange_n(address, &held, value, false,          \
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
    }                                                                                          \
    return held;                                                                               \
  }                                                                                            \
  inline T atomicMin(T* address, T value) {                                                    \
    T held = *address;                                                                         \
    while (value < held && !__atomic_compare_exchange_n(address, &held, value, false,          \
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
    }                                                                                          \
    return held;                                                                               \
  }
EMULATED_GPU_ATOMICS(int)
EMULATED_GPU_ATOMICS(unsigned)
EMULATED_GPU_ATOMICS(unsigned long long)
#undef EMULATED_GPU_ATOMICS
