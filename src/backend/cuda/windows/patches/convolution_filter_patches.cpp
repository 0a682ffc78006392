// The gradient of a convolution's kernel, of windows that slide densely (convolution_filter.cpp).
// A block goes through some patches of y; these and what they read of x lie in shared memory. A
// thread has sums for all taps of one row of the window: it reads each number of x and of y once.
#include <numeric>
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/patches/patch.h"
#include "backend/cuda/windows/patches/splits.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
#define GROUP (TAPS_Y * IN_GROUPS * OUT_GROUPS)  // threads that have results of their own
#define THREADS (GROUP * SPLITS)
#define TC (IN_GROUPS * RC)  // channels and filters of a block
#define TN (OUT_GROUPS * RO)
#define WIDTH (SEGMENTS * PX)
#define PATCH_Y ((ROWS - 1) * STEP_Y + TAPS_Y)
#define PATCH_X ((WIDTH - 1) * STEP_X + TAPS_X)
#define SPAN ((PX - 1) * STEP_X + TAPS_X)  // what a thread reads of a row
#define BATCH 6                            // packs that a thread has on their way
#define WA (IN_WIDTH < TC ? IN_WIDTH : TC)
#define WB (OUT_WIDTH < 4 ? OUT_WIDTH : 4)

struct Sizes {
  Slides slides;
  int64 images, patches, part;  // patches of all, of a part
  int32 in, out;
  int32 row_tiles, width_tiles, in_tiles, out_tiles;
};

// A part of `images` images, from where `image` begins at `top`, `left` on: some channels of it.
struct Box {
  int64 image, images;
  int32 top, height, left, width, channel, channels;
};

// to[image][row][pixel][channel], kRows x kPixels x kChannels of an image; 0 outside.
template <int kRows, int kPixels, int kChannels, int kWidth, bool kWhole>
DEVICE void bring(float* to, const T* from, const Box& box) {
  static_assert(kChannels % kWidth == 0, "the next tile begins at a pack");
  constexpr uint32 kAcross = kChannels / kWidth;
  constexpr uint32 kPacks = IMAGES * kRows * kPixels * kAcross;
  from += box.image * box.height * box.width * box.channels + box.channel;
  for (uint32 first = threadIdx.x; first < kPacks; first += THREADS * BATCH) {
    T numbers[BATCH][kWidth];
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS, pixel = pack / kAcross, line = pixel / kPixels;
      const int32 c = pack % kAcross * kWidth;
      const int32 x = box.left + (int32)(pixel % kPixels), y = box.top + (int32)(line % kRows);
      const int32 image = line / kRows;
      bool there = pack < kPacks && has(box.width, x) && has(box.height, y);
      if (IMAGES > 1) there = there && box.image + image < box.images;
      if (!kWhole) there = there && box.channel + c < box.channels;
      const int32 at = ((image * box.height + y) * box.width + x) * box.channels + c;
      load_or_zero<kWidth>(numbers[i], from + at, there);
    }
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS;
      if (pack >= kPacks) break;
      Pack<float, kWidth> floats;
#pragma unroll
      for (int32 j = 0; j < kWidth; ++j) floats.at[j] = to_float(numbers[i][j]);
      store(to + pack * kWidth, floats);
    }
  }
}

template <int kCount>
DEVICE void read(float (&to)[kCount], const float* from) {
  const Pack<float, kCount> pack = load<kCount>(from);
#pragma unroll
  for (int32 i = 0; i < kCount; ++i) to[i] = pack.at[i];
}

// sums[tap, channel][filter] += those of some positions side by side.
DEVICE void multiply(float (&sums)[TAPS_X * RC][RO], const float* x, const float* y) {
  float a[SPAN][RC];
#pragma unroll
  for (int32 i = 0; i < SPAN; ++i) read(a[i], x + i * TC);
#pragma unroll
  for (int32 p = 0; p < PX; ++p) {
    float b[RO];
    read(b, y + p * TN);
#pragma unroll
    for (int32 tap = 0; tap < TAPS_X; ++tap) {
#pragma unroll
      for (int32 i = 0; i < RC; ++i) {
#pragma unroll
        for (int32 j = 0; j < RO; ++j) {
          float& sum = sums[tap * RC + i][j];
          sum = fmaf(a[p * STEP_X + tap][i], b[j], sum);
        }
      }
    }
  }
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) convolve_filter_patch, R* w, const T* x, const T* y,
       Sizes s) {
  __shared__ __align__(16) float memory[MEMORY];
  float* const xs = memory;
  float* const ys = memory + (IMAGES * PATCH_Y * PATCH_X * TC + 3) / 4 * 4;
  uint32 block = blockIdx.x;
  const int32 filter = block % (uint32)s.out_tiles * TN;
  block /= (uint32)s.out_tiles;
  const int32 channel = block % (uint32)s.in_tiles * TC, part = block / (uint32)s.in_tiles;

  const int32 split = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
  const int32 column = thread % OUT_GROUPS * RO, row = thread / OUT_GROUPS;
  const int32 line = row % IN_GROUPS * RC, tap = row / IN_GROUPS;
  const int64 begin = part * s.part, end = min(begin + s.part, s.patches);
  float sums[TAPS_X * RC][RO] = {};
  for (int64 patch = begin; patch < end; ++patch) {
    const int32 left = (int32)(patch % s.width_tiles) * WIDTH;
    const int64 rest = patch / s.width_tiles;
    const int32 top = (int32)(rest % s.row_tiles) * ROWS;
    const int64 image = rest / s.row_tiles * IMAGES;
    const Slide &down = s.slides.of[1], &across = s.slides.of[2];
    if (patch > begin) __syncthreads();
    bring<PATCH_Y, PATCH_X, TC, WA, WHOLE_IN>(xs, x,
                                    {image, s.images, top * STEP_Y - down.padding, down.x,
                                     left * STEP_X - across.padding, across.x, channel, s.in});
    bring<ROWS, WIDTH, TN, WB, WHOLE_OUT>(ys, y,
                               {image, s.images, top, down.y, left, across.y, filter, s.out});
    __syncthreads();
#pragma unroll 1
    for (int32 i = split; i < IMAGES * ROWS; i += SPLITS) {
      const int32 first = (i / ROWS * PATCH_Y + i % ROWS * STEP_Y + tap) * PATCH_X;
#pragma unroll 1
      for (int32 segment = 0; segment < WIDTH; segment += PX) {
        multiply(sums, xs + (first + segment * STEP_X) * TC + line,
                 ys + (i * WIDTH + segment) * TN + column);
      }
    }
  }
  if (SPLITS > 1) add_splits(sums, memory, split, thread, GROUP);
  if (split > 0) return;
  w += (int64)part * TAPS_Y * TAPS_X * s.in * s.out;
#pragma unroll
  for (int32 i = 0; i < TAPS_X * RC; ++i) {
    const int32 c = channel + line + i % RC;
    R* const to = w + ((int64)(tap * TAPS_X + i / RC) * s.in + c) * s.out;
#pragma unroll
    for (int32 j = 0; j < RO; j += WB) {
      const int32 n = filter + column + j;
      if (c >= s.in || n >= s.out) continue;
      Pack<R, WB> pack;
#pragma unroll
      for (int32 v = 0; v < WB; ++v) pack.at[v] = from_float<R>(sums[i][j + v]);
      store(to + n, pack);
    }
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t images, patches, part;
  std::int32_t in, out;
  std::int32_t row_tiles, width_tiles, in_tiles, out_tiles;
};

}  // namespace

Launch filter_by_patches(const KernelArgs& args, const FilterParts& f) {
  const Convolution& c = f.c;
  const FilterPatch patch = filter_patch_of(c);
  const Sizes sizes{c.slides,
                    c.images,
                    patch.patches(c),
                    f.part,
                    static_cast<std::int32_t>(c.in),
                    static_cast<std::int32_t>(c.out),
                    tile_count(c.slides[1].y, patch.rows),
                    tile_count(c.slides[2].y, patch.width()),
                    tile_count(c.in, patch.channels()),
                    tile_count(c.out, patch.filters())};
  // The tiles of channels begin at multiples of theirs.
  const int in = width_of(std::gcd(c.in, patch.channels()), 4, {&f.x});
  const int out = width_of(c.out, 4, {&f.y, &f.result});
  const std::string defines = define("T", f.x.type.dtype) + define("R", f.result.type.dtype) +
                              define("IN_WIDTH", std::int64_t{in}) +
                              define("OUT_WIDTH", std::int64_t{out}) + patch.defines(c);
  const Source source{"convolve_filter_patch",
                      std::string(kGeometryText) + std::string(kSplitsText) + std::string(kText),
                      defines};
  return kernel_launch(
      stream_of(args), source, "convolve_filter_patch",
      {grid_of_tiles(f.parts * patch.blocks(c)).blocks, static_cast<int>(patch.threads())},
      f.result.data, f.x.data, f.y.data, sizes);
}

}  // namespace meshwork::cuda::windows
