#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// What a warp multiplies by tensor cores, which PTX_T names: the pieces of PTX that its lanes hold
/// (PTX ISA, mma.m16n8k16 and ldmatrix). An emulated GPU, which has no PTX, has functions that move
/// the same pieces.
inline constexpr std::string_view kTensorCoresText = R"cuda(
DEVICE int32 lane() { return (int32)threadIdx.x % 32; }

#ifdef EMULATED_GPU
DEVICE void load_matrices(uint32 (&to)[4], const T* row) {
  emulated_gpu_load_matrices(to, row, false);
}
DEVICE void load_transposed(uint32 (&to)[4], const T* row) {
  emulated_gpu_load_matrices(to, row, true);
}
DEVICE void multiply_add(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  const uint32 b[2] = {b0, b1};
  emulated_gpu_multiply_add(c, a, b, PTX_T[0] == 'b');
}
#else
// Four matrices of 8 by 8 in shared memory: lane l says where row l % 8 of matrix l / 8 is, and is
// given of each the elements 2 (l % 4) and the next of row l / 4.
DEVICE void load_matrices(uint32 (&to)[4], const T* row) {
  const uint32 address = (uint32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// The same of their transposes.
DEVICE void load_transposed(uint32 (&to)[4], const T* row) {
  const uint32 address = (uint32)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// c [16, 8] += a [16, 16] b [16, 8]. Lane l has of c columns 2 (l % 4) and the next of rows l / 4
// and 8 more; of a these rows in 0 and 1, and in 2 and 3 eight columns on; of b rows 2 (l % 4) and
// the next of column l / 4, and eight rows on. The first GPUs take one half of k after the other.
DEVICE void multiply_add(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32." PTX_T "." PTX_T ".f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#pragma unroll
  for (int32 i = 0; i < 2; ++i) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32." PTX_T "." PTX_T ".f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(i == 0 ? b0 : b1));
  }
#endif
}
#endif

#if __CUDA_ARCH__ >= 800
// 16 bytes into shared memory, where they are after wait_for_copies().
DEVICE void copy_later(T* to, const T* from) {
  const uint32 address = (uint32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
DEVICE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Two numbers rounded to T.
DEVICE uint32 pair(float low, float high) {
  uint32 result;
  asm("cvt.rn." PTX_T "x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
#else
DEVICE void copy_later(T* to, const T* from) { *(uint4*)to = *(const uint4*)from; }
DEVICE void wait_for_copies() {}

DEVICE uint32 pair(float low, float high) {
  return (uint32)from_float<T>(low).bits | (uint32)from_float<T>(high).bits << 16;
}
#endif
)cuda";

}  // namespace meshwork::cuda::attention
