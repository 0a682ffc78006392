// A convolution with small groups, or its gradient with respect to x, element by element. Where
// every channel is a group with one filter, a thread takes several channels side by side.
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/convolution.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
struct Sizes {
  Slides slides;
  int64 packs;
  int32 groups, inner, outer;  // channels of a group: of the source, of the result
};

// Dimension d of the pixel, whose taps begin at element `first`.
DEVICE Axis axis_of(const Slide& slide, int32 pixel, int32& first) {
#if BACKWARD
  const Axis axis = backward_axis(slide, pixel % slide.stride);
  first = axis.first + pixel / slide.stride;
#else
  const Axis axis = forward_axis(slide);
  first = axis.first + pixel * axis.step;
#endif
  return axis;
}

// sums += the channels of a group under one tap.
DEVICE void add_tap(float (&sums)[WIDTH], const T* source, const T* w, int32 inner, int64 step) {
  for (int32 i = 0; i < inner; ++i) {
    const Pack<T, WIDTH> numbers = load<WIDTH>(source + i), weights = load<WIDTH>(w + i * step);
#pragma unroll
    for (int32 v = 0; v < WIDTH; ++v) {
      sums[v] = fmaf(to_float(numbers.at[v]), to_float(weights.at[v]), sums[v]);
    }
  }
}

KERNEL(slide_directly, R* result, const T* source, const T* w, Sizes s) {
  const int32 channels = s.groups * s.outer, sources = s.groups * s.inner;
  const int32 packs = channels / WIDTH;
  const Slides& slides = s.slides;
  FOR_EACH(i, s.packs) {
    int64 place = i;
    const int32 channel = take_last(place, packs) * WIDTH;
    const int32 group = channel / s.outer;
    int32 pixel[3], first[3];
    int64 image = place;
#pragma unroll
    for (int32 d = 2; d >= 0; --d) {
      pixel[d] = take_last(image, BACKWARD ? slides.of[d].x : slides.of[d].y);
    }
    Axis axes[3];
#pragma unroll
    for (int32 d = 0; d < 3; ++d) axes[d] = axis_of(slides.of[d], pixel[d], first[d]);
    const int64 matrix = (int64)(BACKWARD ? s.outer : s.inner) * (BACKWARD ? sources : channels);
    const T* const weights =
        BACKWARD ? w + ((int64)(channel % s.outer) * sources + group * s.inner) : w + channel;
    float sums[WIDTH] = {};
    for (int32 j0 = 0; j0 < axes[0].taps; ++j0) {
      const int32 i0 = first[0] + j0 * axes[0].reach;
      if (!has(axes[0].source, i0)) continue;
      for (int32 j1 = 0; j1 < axes[1].taps; ++j1) {
        const int32 i1 = first[1] + j1 * axes[1].reach;
        if (!has(axes[1].source, i1)) continue;
        const int64 row = (image * axes[0].source + i0) * axes[1].source + i1;
        const int32 k = (axes[0].k + j0 * axes[0].k_step) * slides.of[1].window + axes[1].k +
                        j1 * axes[1].k_step;
        for (int32 j2 = 0; j2 < axes[2].taps; ++j2) {
          const int32 i2 = first[2] + j2 * axes[2].reach;
          if (!has(axes[2].source, i2)) continue;
          const int32 tap = k * slides.of[2].window + axes[2].k + j2 * axes[2].k_step;
          add_tap(sums, source + ((row * axes[2].source + i2) * sources + group * s.inner),
                  weights + tap * matrix, s.inner, BACKWARD ? 1 : channels);
        }
      }
    }
    Pack<R, WIDTH> pack;
#pragma unroll
    for (int32 v = 0; v < WIDTH; ++v) pack.at[v] = from_float<R>(sums[v]);
    store(result + (place * channels + channel), pack);
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t packs;
  std::int32_t groups, inner, outer;
};

}  // namespace

Launch slide_directly(const KernelArgs& args, const Sliding& s) {
  const bool depthwise = s.c.in == 1 && s.c.out == 1;
  const int width = depthwise ? width_of(s.c.groups, 4, {&s.source, &s.w, &s.result}) : 1;
  const std::int64_t packs = num_elements(s.result.type.shape) / width;
  const Sizes sizes{s.c.slides, packs, static_cast<std::int32_t>(s.c.groups),
                    static_cast<std::int32_t>(s.inner()), static_cast<std::int32_t>(s.outer())};
  const Source source{"slide_directly", std::string(kGeometryText) + std::string(kText),
                      define("T", s.source.type.dtype) + define("R", s.result.type.dtype) +
                          define("BACKWARD", std::int64_t{s.backward}) +
                          define("WIDTH", std::int64_t{width})};
  return launch_over(args, source, packs, s.result.data, s.source.data, s.w.data, sizes);
}

}  // namespace meshwork::cuda::windows
