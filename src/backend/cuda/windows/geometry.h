#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "backend/backend.h"

namespace meshwork::cuda::windows {

inline constexpr std::size_t kSpatial = 3;

/// A Slide of backend/slide.h as kernels take it, in numbers of 32 bits.
struct Slide {
  std::int32_t x = 1;  ///< extent
  std::int32_t y = 1;  ///< extent
  std::int32_t window = 1;
  std::int32_t stride = 1;
  std::int32_t padding = 0;
  std::int32_t dilation = 1;
};

/// Three spatial dimensions; missing ones stand in front, of extent one.
using Slides = std::array<Slide, kSpatial>;

/// Of [n, spatial.., channels] images; `window` holds the extents of the kernel. An image of 2^31
/// pixels or more is a broken invariant.
Slides slides_of(const Attrs& attrs, const TensorView& x, const TensorView& y, const Shape& window);

std::int64_t x_pixels(const Slides& slides);  ///< of one image
std::int64_t y_pixels(const Slides& slides);
std::int64_t places(const Slides& slides);  ///< of a window
bool is_flat(const Slides& slides);         ///< two spatial dimensions at most

/// How many elements of a row of `extent` are read or written at once: the most that divide it, at
/// most `limit` (a power of two), of tensors that all begin at a multiple of so many.
int width_of(std::int64_t extent, int limit, std::initializer_list<const TensorView*> tensors);

/// The same in kernels, and what is read along one dimension, seen from either side.
inline constexpr std::string_view kGeometryText = R"cuda(
struct Slide {
  int32 x, y, window, stride, padding, dilation;
};
struct Slides {
  Slide of[3];
};

// Along one dimension result number q < count stands at to + q * to_step, and its tap j < taps
// reads element first + q * step + j * reach of `source` by element k + j * k_step of the kernel.
struct Axis {
  int32 count, to, to_step;
  int32 source, first, step, reach;
  int32 taps, k, k_step;
};

// y, which reads x.
DEVICE Axis forward_axis(const Slide& s) {
  return {s.y, 0, 1, s.x, -s.padding, s.stride, s.dilation, s.window, 0, 1};
}

// The elements of x at phase, phase + stride, .., which y reads by the same taps: those with
// phase + padding - k * dilation a multiple of the stride.
DEVICE Axis backward_axis(const Slide& s, int32 phase) {
  const int32 count = phase < s.x ? (s.x - phase - 1) / s.stride + 1 : 0;
  int32 k_step = 1;
  while (k_step * s.dilation % s.stride != 0) ++k_step;
  int32 k = 0;
  while (k < k_step && (phase + s.padding - k * s.dilation) % s.stride != 0) ++k;
  const int32 taps = k < k_step && k < s.window ? (s.window - k - 1) / k_step + 1 : 0;
  return {count, phase, s.stride, s.y, (phase + s.padding - k * s.dilation) / s.stride,
          1, -(k_step * s.dilation / s.stride), taps, k, k_step};
}

// The last of the coordinates that an index counts, of so many; the index of the others remains.
DEVICE int32 take_last(int64& index, int32 extent) {
  int64 whole;
  if (index <= 0x7fffffff) {
    whole = (uint32)index / (uint32)extent;  // much the faster
  } else {
    whole = index / extent;
  }
  const int32 last = (int32)(index - whole * extent);
  index = whole;
  return last;
}

DEVICE bool has(int32 extent, int32 i) { return (uint32)i < (uint32)extent; }

// to[..] = from[..], 0 where nothing is there. Numbers become floats when they are written to shared
// memory: nothing waits for them before.
template <int kCount, class N>
DEVICE void load_or_zero(N* to, const N* from, bool there) {
  Pack<N, kCount> pack{};
  if (there) pack = load<kCount>(from);
#pragma unroll
  for (int32 i = 0; i < kCount; ++i) to[i] = pack.at[i];
}
)cuda";

}  // namespace meshwork::cuda::windows
