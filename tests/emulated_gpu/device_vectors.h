// Vectors of CUDA: float4 and its like.
#pragma once

#define EMULATED_GPU_TRIPLE(name, scalar) \
  struct name##3 {                        \
    scalar x, y, z;                       \
  };
#define EMULATED_GPU_VECTORS(name, scalar)                                          \
  struct alignas(2 * sizeof(scalar)) name##2 {                                      \
    scalar x, y;                                                                    \
  };                                                                                \
  struct alignas(4 * sizeof(scalar) > 16 ? 16 : 4 * sizeof(scalar)) name##4 {       \
    scalar x, y, z, w;                                                              \
  };                                                                                \
  inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
  inline name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
  inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

EMULATED_GPU_TRIPLE(char, signed char)
EMULATED_GPU_TRIPLE(uchar, unsigned char)
EMULATED_GPU_TRIPLE(short, short)
EMULATED_GPU_TRIPLE(ushort, unsigned short)
EMULATED_GPU_TRIPLE(int, int)
typedef EmulatedGpuIndex uint3;
EMULATED_GPU_TRIPLE(longlong, long long)
EMULATED_GPU_TRIPLE(ulonglong, unsigned long long)
EMULATED_GPU_TRIPLE(float, float)
EMULATED_GPU_TRIPLE(double, double)
#undef EMULATED_GPU_TRIPLE

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
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
};
