// sum_pool_input: x[i] = sum of y[o] over the windows that read i
// max_pool_input: dx[i] = sum of dy[o] over the windows whose first greatest x is i
// Each element takes from its windows. Of max_pool_input the places of the greatest elements are
// found first, one for each window.
#include <string>

#include "backend/cuda/windows/kernels.h"
#include "backend/cuda/windows/pool.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
// Along each dimension element i of dx is element i + shift of the slide's x.
struct Sizes {
  Slides slides;
  int32 extents[3], shift[3];
  int64 packs;
  int32 channels;
};

// Rounded down.
DEVICE int32 divide(int32 a, int32 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

KERNEL(pool_input, T* dx, const T* dy, const P* places, Sizes s) {
  const int32 packs = s.channels / WIDTH;
  const Slides& slides = s.slides;
  FOR_EACH(i, s.packs) {
    int64 place = i;
    const int32 channel = take_last(place, packs) * WIDTH;
    int64 image = place;
    int32 from[3], begin[3], end[3];  // `from` is where the element stands in window 0
#pragma unroll
    for (int32 d = 2; d >= 0; --d) {
      const Slide& slide = slides.of[d];
      from[d] = take_last(image, s.extents[d]) + s.shift[d] + slide.padding;
      begin[d] = max(0, divide(from[d] - slide.window, slide.stride) + 1);
      end[d] = min(slide.y, divide(from[d], slide.stride) + 1);
    }
    float sums[WIDTH] = {};
    for (int32 o0 = begin[0]; o0 < end[0]; ++o0) {
      const int32 k0 = from[0] - o0 * slides.of[0].stride;
      for (int32 o1 = begin[1]; o1 < end[1]; ++o1) {
        const int32 k = k0 * slides.of[1].window + from[1] - o1 * slides.of[1].stride;
        const int64 row = (image * slides.of[0].y + o0) * slides.of[1].y + o1;
        for (int32 o2 = begin[2]; o2 < end[2]; ++o2) {
          const int64 at = (row * slides.of[2].y + o2) * s.channels + channel;
          const Pack<T, WIDTH> gradients = load<WIDTH>(dy + at);
#if MAX
          const int32 mine = k * slides.of[2].window + from[2] - o2 * slides.of[2].stride;
          const Pack<P, WIDTH> greatest = load<WIDTH>(places + at);
#endif
#pragma unroll
          for (int32 v = 0; v < WIDTH; ++v) {
#if MAX
            if (greatest.at[v] != (P)mine) continue;
#endif
            sums[v] += to_float(gradients.at[v]);
          }
        }
      }
    }
    Pack<T, WIDTH> pack;
#pragma unroll
    for (int32 v = 0; v < WIDTH; ++v) pack.at[v] = from_float<T>(sums[v]);
    store(dx + (place * s.channels + channel), pack);
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::array<std::int32_t, kSpatial> extents{1, 1, 1}, shift{};
  std::int64_t packs = 0;
  std::int32_t channels = 0;
};

/// `x` is what the slides are about, of which dx shows a part.
Sizes sizes_of(const Slides& slides, const TensorView& x, const TensorView& dx) {
  Sizes sizes{.slides = slides};
  const std::size_t spatial = dx.type.shape.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t to = kSpatial - spatial + i, d = i + 1;
    sizes.extents[to] = static_cast<std::int32_t>(dx.type.shape[d]);
    sizes.shift[to] = static_cast<std::int32_t>(dx.region.offset[d] - x.region.offset[d]);
  }
  sizes.channels = static_cast<std::int32_t>(dx.type.shape.back());
  return sizes;
}

/// One number for each window of each channel, in bytes where these hold a window's places and one
/// more.
TensorView places_of(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &dy = args.inputs[1];
  const std::int64_t count = places(pool_slides(args, x, dy));
  const DType dtype = count < 256 ? DType::kUInt8 : DType::kInt32;
  return {TensorType{dtype, dy.type.shape}, dy.region, args.workspace};
}

Launch pool_input(const KernelArgs& args, Sizes sizes, const TensorView& dy,
                  const TensorView* places) {
  const TensorView& dx = args.output;
  const int limit = pool_width(dx.type.dtype);
  const int width = places == nullptr ? width_of(sizes.channels, limit, {&dx, &dy})
                                      : width_of(sizes.channels, limit, {&dx, &dy, places});
  sizes.packs = num_elements(dx.type.shape) / width;
  const Source source{"pool_input", std::string(kGeometryText) + std::string(kText),
                      define("T", dx.type.dtype) +
                          define("P", places == nullptr ? DType::kUInt8 : places->type.dtype) +
                          define("WIDTH", std::int64_t{width}) +
                          define("MAX", std::int64_t{places != nullptr})};
  return launch_over(args, source, sizes.packs, dx.data, dy.data,
                     places == nullptr ? nullptr : places->data, sizes);
}

}  // namespace

Launch sum_pool_input(const KernelArgs& args) {
  const TensorView &y = args.inputs[0], &x = args.output;
  return pool_input(args, sizes_of(pool_slides(args, x, y), x, x), y, nullptr);
}

std::int64_t max_pool_input_workspace(const KernelArgs& args) {
  return num_bytes(places_of(args).type);
}

Launch max_pool_input(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &dy = args.inputs[1], &dx = args.output;
  const Slides slides = pool_slides(args, x, dy);
  const TensorView places = places_of(args);
  const Launch find = launch_pool(args, slides, x, places, Pool::kPlace);
  const Launch take = pool_input(args, sizes_of(slides, x, dx), dy, &places);
  return [find, take] {
    find();
    take();
  };
}

}  // namespace meshwork::cuda::windows
