// CUDA C++ for g++: every program given to the emulated NVRTC starts with it. No other headers, so
// that kernels compile fast.
#pragma once
#include "narrow_floats.h"
#include "runtime.h"

#define EMULATED_GPU 1
#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __builtin_assume(condition)
// The blocks of a launch run one after the other on one thread of the system.
#define __shared__ static thread_local

#define threadIdx emulated_gpu_place.thread
#define blockIdx emulated_gpu_place.block
#define blockDim emulated_gpu_place.block_size
#define gridDim emulated_gpu_place.grid_size
constexpr int warpSize = 32;

namespace emulated_gpu {

template <int... kIndices>
struct Indices {};
template <int kCount, int... kIndices>
struct CountUp : CountUp<kCount - 1, kCount - 1, kIndices...> {};
template <int... kIndices>
struct CountUp<0, kIndices...> {
  using type = Indices<kIndices...>;
};
template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T> {
  using type = T;
};

template <class... Parameters, int... kIndices>
inline void call(void (*kernel)(Parameters...), void** arguments, Indices<kIndices...>) {
  kernel(*static_cast<typename Plain<Parameters>::type*>(arguments[kIndices])...);
}
template <class... Parameters>
inline void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, typename CountUp<sizeof...(Parameters)>::type());
}

template <class... Parameters>
struct Signature {
  static constexpr unsigned long kSizes[] = {sizeof(Parameters)..., 0};
};
template <class... Parameters>
constexpr EmulatedGpuKernel describe(void (*)(Parameters...), void (*call)(void**)) {
  return {call, sizeof...(Parameters), Signature<Parameters...>::kSizes};
}

}  // namespace emulated_gpu

#define KERNEL(name, ...)                                                                  \
  static void name(__VA_ARGS__);                                                           \
  static void name##_call(void** arguments) { emulated_gpu::call(&name, arguments); }      \
  extern "C" __attribute__((visibility("default"))) const EmulatedGpuKernel name##_kernel; \
  const EmulatedGpuKernel name##_kernel = emulated_gpu::describe(&name, &name##_call);     \
  static void name(__VA_ARGS__)

/// Where the shared memory of this thread of the system lies, and then on it lies somewhere.
/// Address sanitizers take memory of threads for what it is not that is aligned to 16 bytes.
alignas(128) static thread_local char emulated_gpu_shared_part;
extern "C" __attribute__((visibility("default"))) void* emulated_gpu_shared() {
  return &emulated_gpu_shared_part;
}

#include "device_vectors.h"

#include "device_math.h"

#include "device_threads.h"
