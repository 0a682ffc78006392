#pragma once

#include <string_view>

namespace meshwork::cuda {

/// What every source of kernels begins with: names of types, loops over elements, indices taken
/// apart, floats of 16 bits, packs of numbers.
///
///     KERNEL(scale, float* y, const T* x, float factor, int64 count) {
///       FOR_EACH(i, count) y[i] = to_float(x[i]) * factor;
///     }
inline constexpr std::string_view kPrelude = R"cuda(
#ifndef KERNEL
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#endif

typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef int int32;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;
typedef double float64;

// Threads of all blocks take the indices from 0 to count in turn.
#define FOR_EACH(i, count)                                                         \
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < (int64)(count); \
       i += (int64)gridDim.x * blockDim.x)

#define DEVICE static __device__ __forceinline__

// A number that indices are divided by, as a multiplication and a shift (backend/cuda/index.h).
struct Divisor {
  uint64 value;
  uint32 factor, shift;
};
DEVICE uint32 divide(uint32 x, const Divisor& by) {  // x < 2^31
  return (__umulhi(x, by.factor) + x) >> by.shift;
}
DEVICE uint64 divide(uint64 x, const Divisor& by) { return x / by.value; }

// Floats of 16 bits, which are computed with as float32: the upper half of a float32, and IEEE
// 754's.
struct alignas(2) bfloat16 {
  uint16 bits;
};
struct alignas(2) float16 {
  uint16 bits;
};

#define MW_INFINITY __int_as_float(0x7f800000)
#define MW_NAN __int_as_float(0x7fc00000)

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(int32 x) { return (float)x; }
DEVICE float to_float(int64 x) { return (float)x; }
DEVICE float to_float(bfloat16 x) { return __int_as_float((int32)((uint32)x.bits << 16)); }
DEVICE float to_float(float16 x) {
#ifdef EMULATED_GPU
  return emulated_gpu::from_float16(x.bits);
#else
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#endif
}

// The number that is computed with.
template <class T>
DEVICE T computed(T x) {
  return x;
}
DEVICE float computed(bfloat16 x) { return to_float(x); }
DEVICE float computed(float16 x) { return to_float(x); }

template <class T>
struct From;
template <>
struct From<float> {
  DEVICE float number(float x) { return x; }
};
template <>
struct From<bfloat16> {
  // The float32 whose upper half it is.
  DEVICE float rounded(float x) {
#if __CUDA_ARCH__ >= 800
    uint32 word;  // of two at once: for one alone fewer units are there
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x), "f"(0.0f));
#else
    uint32 word = (uint32)__float_as_int(x);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    word = is_nan ? word | 0x00400000u : word + 0x7fffu + (word >> 16 & 1u);
    word &= 0xffff0000u;
#endif
    return __int_as_float((int32)word);
  }
  DEVICE bfloat16 number(float x) {
    return {(uint16)((uint32)__float_as_int(rounded(x)) >> 16)};
  }
};
template <>
struct From<float16> {
  DEVICE float16 number(float x) {
    float16 y;
#ifdef EMULATED_GPU
    y.bits = emulated_gpu::to_float16(x);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#endif
    return y;
  }
  DEVICE float rounded(float x) { return to_float(number(x)); }
};

// A float as T, rounded to the nearest one, of two to the even one; NaN stays NaN.
template <class T>
DEVICE T from_float(float x) {
  return From<T>::number(x);
}

// The same as a float again.
template <class T>
DEVICE float rounded(float x) {
  return From<T>::rounded(x);
}

// Numbers side by side, moved as one word.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T at[kCount];
};
template <int kCount, class T>
DEVICE Pack<T, kCount> load(const T* from) {
  return *(const Pack<T, kCount>*)from;
}
template <class T, int kCount>
DEVICE void store(T* to, const Pack<T, kCount>& pack) {
  *(Pack<T, kCount>*)to = pack;
}
)cuda";

}  // namespace meshwork::cuda
