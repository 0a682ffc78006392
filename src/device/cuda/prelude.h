#pragma once

#include <string_view>

namespace meshwork::cuda {

/// What every source of kernels begins with: names of types, bfloat16, loops over elements.
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

struct alignas(2) bfloat16 {
  uint16 bits;
};

// IEEE 754's 16 bits, in which data are stored.
struct alignas(2) float16 {
  uint16 bits;
};

#define MW_INFINITY __int_as_float(0x7f800000)
#define MW_NAN __int_as_float(0x7fc00000)

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(int32 x) { return (float)x; }
DEVICE float to_float(int64 x) { return (float)x; }
DEVICE float to_float(bfloat16 x) { return __int_as_float((int32)((uint32)x.bits << 16)); }

// Rounds to nearest, ties to even; NaN stays NaN.
DEVICE bfloat16 to_bfloat16(float x) {
  uint32 word = (uint32)__float_as_int(x);
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  word = is_nan ? word | 0x00400000u : word + 0x7fffu + (word >> 16 & 1u);
  bfloat16 y;
  y.bits = (uint16)(word >> 16);
  return y;
}

template <class T>
struct From;
template <>
struct From<float> {
  DEVICE float number(float x) { return x; }
};
template <>
struct From<bfloat16> {
  DEVICE bfloat16 number(float x) { return to_bfloat16(x); }
};

// A float as T, rounded to nearest.
template <class T>
DEVICE T from_float(float x) {
  return From<T>::number(x);
}
)cuda";

}  // namespace meshwork::cuda
