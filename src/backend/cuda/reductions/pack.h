#pragma once

#include <initializer_list>
#include <string_view>

#include "backend/backend.h"

namespace meshwork::cuda {

/// Elements that a thread reads or writes at once, 16 bytes at most, of rows of `extent` elements.
int pack_width(std::int64_t extent, DType dtype);

/// The same for the first of these tensors, whose packs all of them are read or written in: 1 where
/// one of them does not begin at a whole pack.
int pack_width(std::int64_t extent, std::initializer_list<const TensorView*> tensors);

/// A number, or a pack, of any dtype = what was computed.
inline constexpr std::string_view kStoreText = R"cuda(
template <class N>
DEVICE void store(N& y, float x) {
  y = from_float<N>(x);
}
DEVICE void store(int32& y, int32 x) { y = x; }
DEVICE void store(int64& y, int64 x) { y = x; }

// Floats as a pack.
template <class N, int kCount>
struct Packing {
  DEVICE Pack<N, kCount> pack(const float* x) {
    Pack<N, kCount> y;
#pragma unroll
    for (int32 i = 0; i < kCount; ++i) y.at[i] = from_float<N>(x[i]);
    return y;
  }
};
#if __CUDA_ARCH__ >= 800
template <int kCount>
struct Packing<bfloat16, kCount> {
  DEVICE Pack<bfloat16, kCount> pack(const float* x) {
    Pack<bfloat16, kCount> y;
    if (kCount == 1) {
      y.at[0] = from_float<bfloat16>(x[0]);
      return y;
    }
#pragma unroll
    for (int32 i = 0; i + 1 < kCount; i += 2) {
      uint32 word;
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[i + 1]), "f"(x[i]));
      y.at[i].bits = (uint16)word;
      y.at[i + 1].bits = (uint16)(word >> 16);
    }
    return y;
  }
};
#endif
template <class N, int kCount>
DEVICE Pack<N, kCount> packed(const float* x) {
  return Packing<N, kCount>::pack(x);
}
)cuda";

}  // namespace meshwork::cuda
