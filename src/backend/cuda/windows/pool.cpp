// sum_pool: y[o] = sum over k of x[o * stride - padding + k], as far as x has it
// max_pool: y[o] = the greatest x of its window; NaN if there is one, -inf of none
#include "backend/cuda/windows/pool.h"

#include <string>

#include "backend/cuda/windows/kernels.h"
#include "base/check.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
struct Sizes {
  Slides slides;
  int64 packs;
  int32 channels;
};

// What is made of the elements of a window, taken in row-major order.
#if SUM
struct Result {
  float sum;
  DEVICE Result nothing() { return {0}; }
  DEVICE void take(Result& r, float x, int32) { r.sum += x; }
  DEVICE Y number(const Result& r) { return from_float<Y>(r.sum); }
};
#elif PLACE
// The place in the window of the first of the greatest; NaN is greater than any number.
struct Result {
  float max;
  int32 place;
  DEVICE Result nothing() { return {0, -1}; }
  DEVICE void take(Result& r, float x, int32 place) {
    if (r.place >= 0 && !(x > r.max) && !(x != x && r.max == r.max)) return;
    r = {x, place};
  }
  DEVICE Y number(const Result& r) { return (Y)r.place; }
};
#else
struct Result {
  float max;
  DEVICE Result nothing() { return {-MW_INFINITY}; }
  DEVICE void take(Result& r, float x, int32) { r.max = r.max > x || r.max != r.max ? r.max : x; }
  DEVICE Y number(const Result& r) { return from_float<Y>(r.max); }
};
#endif

KERNEL(pool, Y* y, const T* x, Sizes s) {
  const int32 packs = s.channels / WIDTH;
  const Slides& slides = s.slides;
  FOR_EACH(i, s.packs) {
    int64 place = i;
    const int32 channel = take_last(place, packs) * WIDTH;
    int64 image = place;
    int32 first[3], begin[3], end[3];
#pragma unroll
    for (int32 d = 2; d >= 0; --d) {
      const Slide& slide = slides.of[d];
      first[d] = take_last(image, slide.y) * slide.stride - slide.padding;
      begin[d] = max(0, -first[d]);
      end[d] = min(slide.window, slide.x - first[d]);
    }
    Result results[WIDTH];
#pragma unroll
    for (int32 v = 0; v < WIDTH; ++v) results[v] = Result::nothing();
    for (int32 k0 = begin[0]; k0 < end[0]; ++k0) {
      for (int32 k1 = begin[1]; k1 < end[1]; ++k1) {
        const int64 row =
            (image * slides.of[0].x + first[0] + k0) * slides.of[1].x + first[1] + k1;
        const T* const line = x + ((row * slides.of[2].x + first[2]) * s.channels + channel);
        const int32 k = (k0 * slides.of[1].window + k1) * slides.of[2].window;
        for (int32 k2 = begin[2]; k2 < end[2]; ++k2) {
          const Pack<T, WIDTH> pack = load<WIDTH>(line + (int64)k2 * s.channels);
#pragma unroll
          for (int32 v = 0; v < WIDTH; ++v) {
            Result::take(results[v], to_float(pack.at[v]), k + k2);
          }
        }
      }
    }
    Pack<Y, WIDTH> pack;
#pragma unroll
    for (int32 v = 0; v < WIDTH; ++v) pack.at[v] = Result::number(results[v]);
    store(y + (place * s.channels + channel), pack);
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t packs;
  std::int32_t channels;
};

Launch pool(const KernelArgs& args, bool sum) {
  const TensorView &x = args.inputs[0], &y = args.output;
  return launch_pool(args, pool_slides(args, x, y), x, y, sum ? Pool::kSum : Pool::kMax);
}

}  // namespace

Slides pool_slides(const KernelArgs& args, const TensorView& x, const TensorView& y) {
  const Slides slides = slides_of(args.attrs, x, y, args.attrs.integers("window"));
  for (const Slide& slide : slides) MW_CHECK(slide.dilation == 1, "a pool with dilation");
  return slides;
}

Launch launch_pool(const KernelArgs& args, const Slides& slides, const TensorView& x,
                   const TensorView& y, Pool pool) {
  const std::int64_t channels = x.type.shape.back();
  const int width = width_of(channels, pool_width(x.type.dtype), {&x, &y});
  const std::int64_t packs = num_elements(y.type.shape) / width;
  const Sizes sizes{slides, packs, static_cast<std::int32_t>(channels)};
  const Source source{"pool", std::string(kGeometryText) + std::string(kText),
                      define("T", x.type.dtype) + define("Y", y.type.dtype) +
                          define("WIDTH", std::int64_t{width}) +
                          define("SUM", std::int64_t{pool == Pool::kSum}) +
                          define("PLACE", std::int64_t{pool == Pool::kPlace})};
  return launch_over(args, source, packs, y.data, x.data, sizes);
}

int pool_width(DType dtype) { return static_cast<int>(16 / size_of(dtype)); }

Launch max_pool(const KernelArgs& args) { return pool(args, false); }

Launch sum_pool(const KernelArgs& args) { return pool(args, true); }

}  // namespace meshwork::cuda::windows
