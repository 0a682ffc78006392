// Arithmetic of CUDA. Functions of libm are declared, not included.
#pragma once

#define EMULATED_GPU_UNARY(name)            \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return name##f(x); }
#define EMULATED_GPU_BINARY(name)                                      \
  extern "C" double name(double, double) noexcept;                     \
  extern "C" float name##f(float, float) noexcept;                     \
  inline float name(float x, float y) { return name##f(x, y); }        \
  inline double name(float x, double y) { return name(double(x), y); } \
  inline double name(double x, float y) { return name(x, double(y)); }

EMULATED_GPU_UNARY(sin)
EMULATED_GPU_UNARY(cos)
EMULATED_GPU_UNARY(tan)
EMULATED_GPU_UNARY(asin)
EMULATED_GPU_UNARY(acos)
EMULATED_GPU_UNARY(atan)
EMULATED_GPU_UNARY(sinh)
EMULATED_GPU_UNARY(cosh)
EMULATED_GPU_UNARY(tanh)
EMULATED_GPU_UNARY(asinh)
EMULATED_GPU_UNARY(acosh)
EMULATED_GPU_UNARY(atanh)
EMULATED_GPU_UNARY(exp)
EMULATED_GPU_UNARY(exp2)
EMULATED_GPU_UNARY(expm1)
EMULATED_GPU_UNARY(log)
EMULATED_GPU_UNARY(log2)
EMULATED_GPU_UNARY(log10)
EMULATED_GPU_UNARY(log1p)
EMULATED_GPU_UNARY(sqrt)
EMULATED_GPU_UNARY(cbrt)
EMULATED_GPU_UNARY(erf)
EMULATED_GPU_UNARY(erfc)
EMULATED_GPU_UNARY(lgamma)
EMULATED_GPU_UNARY(tgamma)
EMULATED_GPU_UNARY(floor)
EMULATED_GPU_UNARY(ceil)
EMULATED_GPU_UNARY(trunc)
EMULATED_GPU_UNARY(round)
EMULATED_GPU_UNARY(rint)
EMULATED_GPU_UNARY(nearbyint)
EMULATED_GPU_UNARY(fabs)
EMULATED_GPU_BINARY(pow)
EMULATED_GPU_BINARY(fmod)
EMULATED_GPU_BINARY(atan2)
EMULATED_GPU_BINARY(hypot)
EMULATED_GPU_BINARY(copysign)
EMULATED_GPU_BINARY(fmax)
EMULATED_GPU_BINARY(fmin)
EMULATED_GPU_BINARY(fdim)
EMULATED_GPU_BINARY(nextafter)
EMULATED_GPU_BINARY(remainder)
#undef EMULATED_GPU_UNARY
#undef EMULATED_GPU_BINARY

extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float frexpf(float, int*) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" long long llrintf(float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" int printf(const char*, ...);
extern "C" void* memcpy(void*, const void*, unsigned long) noexcept;
extern "C" void* memset(void*, int, unsigned long) noexcept;
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline float rsqrtf(float x) { return 1.0F / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float sinpif(float x) { return static_cast<float>(sin(3.14159265358979323846 * x)); }
inline float cospif(float x) { return static_cast<float>(cos(3.14159265358979323846 * x)); }
inline float exp10f(float x) { return powf(10.0F, x); }
inline void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }

inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / __builtin_sqrt(double(x))); }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __saturatef(float x) { return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F; }

inline int __float_as_int(float x) { return emulated_gpu::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return emulated_gpu::bits<unsigned>(x); }
inline float __int_as_float(int x) { return emulated_gpu::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return emulated_gpu::bits<float>(x); }
inline long long __double_as_longlong(double x) { return emulated_gpu::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulated_gpu::bits<double>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(llrintf(x)); }
inline long long __float2ll_rn(float x) { return llrintf(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<__int128>(x) * y) >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  x = ((x >> 1) & 0x55555555U) | ((x & 0x55555555U) << 1);
  x = ((x >> 2) & 0x33333333U) | ((x & 0x33333333U) << 2);
  x = ((x >> 4) & 0x0F0F0F0FU) | ((x & 0x0F0F0F0FU) << 4);
  return __builtin_bswap32(x);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned>((both << (shift & 31U)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned>(both >> (shift & 31U));
}

#define EMULATED_GPU_EXTREMES(result, first, second)                                 \
  inline result min(first x, second y) {                                             \
    return static_cast<result>(x) < static_cast<result>(y) ? static_cast<result>(x)  \
                                                           : static_cast<result>(y); \
  }                                                                                  \
  inline result max(first x, second y) {                                             \
    return static_cast<result>(x) > static_cast<result>(y) ? static_cast<result>(x)  \
                                                           : static_cast<result>(y); \
  }
EMULATED_GPU_EXTREMES(int, int, int)
EMULATED_GPU_EXTREMES(unsigned, unsigned, unsigned)
EMULATED_GPU_EXTREMES(unsigned, unsigned, int)
EMULATED_GPU_EXTREMES(unsigned, int, unsigned)
EMULATED_GPU_EXTREMES(long, long, long)
EMULATED_GPU_EXTREMES(unsigned long, unsigned long, unsigned long)
EMULATED_GPU_EXTREMES(unsigned long, unsigned long, long)
EMULATED_GPU_EXTREMES(unsigned long, long, unsigned long)
EMULATED_GPU_EXTREMES(long long, long long, long long)
EMULATED_GPU_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
EMULATED_GPU_EXTREMES(unsigned long long, unsigned long long, long long)
EMULATED_GPU_EXTREMES(unsigned long long, long long, unsigned long long)
#undef EMULATED_GPU_EXTREMES
inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline double min(float x, double y) { return fmin(x, y); }
inline double max(float x, double y) { return fmax(x, y); }
inline double min(double x, float y) { return fmin(x, y); }
inline double max(double x, float y) { return fmax(x, y); }
