// The gradient of the kernel of a convolution with small groups, element by element
// (convolution_filter.cpp): a block computes 32 filters under 8 taps.
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/convolution.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::int64_t kFilters = 32;
constexpr std::int64_t kTaps = 8;

constexpr std::string_view kText = R"cuda(
#define FILTERS 32  // of a block, one for each thread of a warp
#define TAPS 8      // of a block
#define LANES 8     // warps, which take positions in turn
#define NOWHERE (-(1 << 30))

struct Sizes {
  Slides slides;
  int64 positions, part;
  int32 in, out, channels, filters;
  int32 filter_blocks, tap_blocks;
};

// Where a tap stands before or behind the place that a position reads first.
DEVICE void shifts_of(int32 (&shifts)[TAPS][3], const Sizes& s, int32 first) {
  if (threadIdx.x >= TAPS) return;
  int32 k = first + threadIdx.x;
#pragma unroll
  for (int32 d = 2; d >= 0; --d) {
    const Slide& slide = s.slides.of[d];
    shifts[threadIdx.x][d] = k % slide.window * slide.dilation - slide.padding;
    k /= slide.window;
  }
  if (k > 0) shifts[threadIdx.x][0] = NOWHERE;
}

KERNEL(__launch_bounds__(256) convolve_filter, R* w, const T* x, const T* y, Sizes s) {
  __shared__ int32 shifts[TAPS][3];
  __shared__ float shared[LANES][TAPS][FILTERS];
  int32 block = blockIdx.x;
  const int32 f = block % s.filter_blocks * FILTERS + threadIdx.x % FILTERS;
  block /= s.filter_blocks;
  const int32 c = block % s.in;
  block /= s.in;
  const int32 tap = block % s.tap_blocks * TAPS, part = block / s.tap_blocks;
  const Slides& slides = s.slides;
  const int32 lane = threadIdx.x / FILTERS;
  shifts_of(shifts, s, tap);
  __syncthreads();

  float sums[TAPS] = {};
  if (f < s.filters) {
    const int64 end = min((part + 1) * s.part, s.positions);
    const int32 pixels = slides.of[0].y * slides.of[1].y * slides.of[2].y;
    const T* const channel = x + (f / s.out * s.in + c);
    for (int64 position = part * s.part + lane; position < end; position += LANES) {
      int64 image = position;
      const int32 pixel = take_last(image, pixels);
      const int32 line = pixel / slides.of[2].y;
      const int32 first[3] = {line / slides.of[1].y * slides.of[0].stride,
                              line % slides.of[1].y * slides.of[1].stride,
                              pixel % slides.of[2].y * slides.of[2].stride};
      const float dy = to_float(y[position * s.filters + f]);
#pragma unroll
      for (int32 t = 0; t < TAPS; ++t) {
        bool there = true;
        int64 at = image;
#pragma unroll
        for (int32 d = 0; d < 3; ++d) {
          const int32 place = first[d] + shifts[t][d];
          there = there && has(slides.of[d].x, place);
          at = at * slides.of[d].x + place;
        }
        if (there) sums[t] = fmaf(to_float(channel[at * s.channels]), dy, sums[t]);
      }
    }
  }
  for (int32 t = 0; t < TAPS; ++t) shared[lane][t][threadIdx.x % FILTERS] = sums[t];
  __syncthreads();

  const int32 taps = slides.of[0].window * slides.of[1].window * slides.of[2].window;
  const int32 mine = tap + lane;  // a tap for each warp from here on
  if (f >= s.filters || mine >= taps) return;
  float sum = 0;
  for (int32 i = 0; i < LANES; ++i) sum += shared[i][lane][threadIdx.x % FILTERS];
  w[(((int64)part * taps + mine) * s.in + c) * s.filters + f] = from_float<R>(sum);
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t positions, part;
  std::int32_t in, out, channels, filters;
  std::int32_t filter_blocks, tap_blocks;
};

}  // namespace

std::int64_t direct_filter_blocks(const Convolution& c) {
  return tiles_over(c.filters(), kFilters) * c.in * tiles_over(places(c.slides), kTaps);
}

Launch filter_directly(const KernelArgs& args, const FilterParts& f) {
  const Convolution& c = f.c;
  const Sizes sizes{c.slides,
                    f.positions(),
                    f.part,
                    static_cast<std::int32_t>(c.in),
                    static_cast<std::int32_t>(c.out),
                    static_cast<std::int32_t>(c.channels()),
                    static_cast<std::int32_t>(c.filters()),
                    static_cast<std::int32_t>(tiles_over(c.filters(), kFilters)),
                    static_cast<std::int32_t>(tiles_over(places(c.slides), kTaps))};
  const Source source{"convolve_filter", std::string(kGeometryText) + std::string(kText),
                      define("T", f.x.type.dtype) + define("R", f.result.type.dtype)};
  return kernel_launch(stream_of(args), source, "convolve_filter",
                       grid_of_tiles(f.parts * direct_filter_blocks(c)), f.result.data, f.x.data,
                       f.y.data, sizes);
}

}  // namespace meshwork::cuda::windows
