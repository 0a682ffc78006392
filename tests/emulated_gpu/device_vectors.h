// Vectors of CUDA: float4 and its like.
#pragma once

#define EMULATED_GPU_VECTORS(name, scalar)                                          \
  struct alignas(2 * sizeof(scalar)) name##2 {                                      \
    scalar x, y;                                                                    \
  };                                                                                \
  struct name##3 {                                                                  \
    scalar x, y, z;                                                                 \
  };                                                                                \
  struct alignas(4 * sizeof(scalar) > 16 ? 16 : 4 * sizeof(scalar)) name##4 {       \
    scalar x, y, z, w;                                                              \
  };                                                                                \
  inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
  inline name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
  inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

EMULATED_GPU_VECTORS(char, signed char)
EMULATED_GPU_VECTORS(uchar, unsigned char)
EMULATED_GPU_VECTORS(short, short)
EMULATED_GPU_VECTORS(ushort, unsigned short)
EMULATED_GPU_VECTORS(int, int)
EMULATED_GPU_VECTORS(uint, unsigned)
EMULATED_GPU_VECTORS(longlong, long long)
EMULATED_GPU_VECTORS(ulonglong, unsigned long long)
EMULATED_GPU_VECTORS(float, float)
EMULATED_GPU_VECTORS(double, double)
#undef EMULATED_GPU_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
