// A convolution or its gradient with respect to x, of windows that slide densely. A block computes
// a patch of the result: a part of the source's image with its halo lies in shared memory, some
// channels at a time, each channel's pixels side by side. A thread that has pixels side by side
// reads each number of the source once for all taps of a row of the window. Of x a phase is
// computed at a time, as in convolution_tiles.cpp; taps are taken from the last to the first, so
// that both directions read their source upwards.
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/patches/patch.h"
#include "backend/cuda/windows/patches/splits.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
#define GROUP (SEGMENTS * ROWS * IMAGES * COLUMN_GROUPS)  // threads that have results of their own
#define THREADS (GROUP * SPLITS)
#define TN (COLUMN_GROUPS * RN)  // channels of the result
#define PATCH_Y ((ROWS - 1) * STEP_Y + TAPS_Y)
#define PATCH_X ((SEGMENTS * PX - 1) * STEP_X + TAPS_X)
#define SPAN ((PX - 1) * STEP_X + TAPS_X)  // what a thread reads of a row
#define BATCH (PX * RN > 40 ? 4 : 6)       // packs that a thread has on their way
#define WB (OUTER_WIDTH < 4 ? OUTER_WIDTH : 4)

struct Sizes {
  Slides slides;
  int64 images;
  int32 inner, outer;  // channels of the source, of the result
  int32 image_tiles, row_tiles, width_tiles, column_tiles;
};

// Along one dimension result q < count stands at to + q * stride, and reads from begin + q * step on,
// by so many taps; tap j is element last - j * stride of the kernel, or j itself (y).
struct Dim {
  int32 count, to, begin, taps, last;
};

DEVICE Dim dim_of(const Slide& s, int32 stride, int32 phase) {
  if (!BACKWARD) return {s.y, 0, -s.padding, s.window, 0};
  int32 k = (phase + s.padding) % stride;
  if (k < 0) k += stride;  // in a shard what is before it may be more than the padding
  const int32 taps = k < s.window ? (s.window - k - 1) / stride + 1 : 0;
  return {(s.x - phase - 1) / stride + 1, phase, (phase + s.padding - k) / stride - (taps - 1), taps,
          k + (taps - 1) * stride};
}

// What a block computes.
struct Task {
  int32 row, left, column;
  int64 image;
  Dim down, across;
};

DEVICE Task task_of(const Sizes& s) {
  uint32 block = blockIdx.x;
  Task task;
  task.column = block % (uint32)s.column_tiles * TN;
  block /= (uint32)s.column_tiles;
  task.left = block % (uint32)s.width_tiles * (SEGMENTS * PX);
  block /= (uint32)s.width_tiles;
  task.row = block % (uint32)s.row_tiles * ROWS;
  block /= (uint32)s.row_tiles;
  task.image = (int64)(block % (uint32)s.image_tiles) * IMAGES;
  const int32 phase = block / (uint32)s.image_tiles;
  const int32 across = min(STRIDE_X, s.slides.of[2].x);
  task.down = dim_of(s.slides.of[1], STRIDE_Y, BACKWARD ? phase / across : 0);
  task.across = dim_of(s.slides.of[2], STRIDE_X, BACKWARD ? phase % across : 0);
  return task;
}

// The source's channels from `channel` on: to[channel][image, row, pixel].
DEVICE void bring_source(float* to, const T* source, const Sizes& s, const Task& task,
                         int32 channel) {
  constexpr uint32 kAcross = DEPTH / INNER_WIDTH;
  constexpr uint32 kPacks = IMAGES * PATCH_Y * PATCH_X * kAcross;
  const int32 height = BACKWARD ? s.slides.of[1].y : s.slides.of[1].x;
  const int32 width = BACKWARD ? s.slides.of[2].y : s.slides.of[2].x;
  const int32 top = task.down.begin + task.row * STEP_Y;
  const int32 left = task.across.begin + task.left * STEP_X;
  source += task.image * height * width * s.inner + channel;
  for (uint32 first = threadIdx.x; first < kPacks; first += THREADS * BATCH) {
    T numbers[BATCH][INNER_WIDTH];
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS;
      const int32 c = pack % kAcross * INNER_WIDTH;
      const uint32 pixel = pack / kAcross, line = pixel / PATCH_X;
      const int32 x = left + (int32)(pixel % PATCH_X), y = top + (int32)(line % PATCH_Y);
      const int32 image = line / PATCH_Y;
      bool there = pack < kPacks && has(height, y) && has(width, x);
      if (IMAGES > 1) there = there && task.image + image < s.images;
      if (!WHOLE_INNER) there = there && channel + c < s.inner;
      const int32 from = ((image * height + y) * width + x) * s.inner + c;
      load_or_zero<INNER_WIDTH>(numbers[i], source + from, there);
    }
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS;
      if (pack >= kPacks) break;
      const uint32 pixel = pack / kAcross;
      const uint32 place = pack % kAcross * INNER_WIDTH * CHANNEL + pixel / PATCH_X * PITCH +
                           pixel % PATCH_X;
#pragma unroll
      for (int32 j = 0; j < INNER_WIDTH; ++j) to[place + j * CHANNEL] = to_float(numbers[i][j]);
    }
  }
}

// to[tap][channel][column], 0 where the window has no such tap.
DEVICE void bring_weights(float* to, const T* w, const Sizes& s, const Task& task, int32 channel) {
  constexpr uint32 kPackIn = BACKWARD ? INNER_WIDTH : 1, kPackOut = BACKWARD ? 1 : WB;
  constexpr uint32 kWidth = kPackIn * kPackOut;
  constexpr uint32 kAcross = TN / kPackOut, kDown = DEPTH / kPackIn;
  constexpr uint32 kPacks = TAPS_Y * TAPS_X * kDown * kAcross;
  const int32 matrix = s.inner * s.outer;
  w += BACKWARD ? task.column * s.inner + channel : channel * s.outer + task.column;
  for (uint32 first = threadIdx.x; first < kPacks; first += THREADS * BATCH) {
    T numbers[BATCH][kWidth];
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS, line = pack / kAcross;
      const int32 n = pack % kAcross * kPackOut, c = line % kDown * kPackIn;
      const int32 y = line / kDown / TAPS_X, x = line / kDown % TAPS_X;
      bool there = pack < kPacks;
      if (!EVEN_TAPS) there = there && y < task.down.taps && x < task.across.taps;
      if (!WHOLE_INNER) there = there && channel + c < s.inner;
      if (!WHOLE_OUTER) there = there && task.column + n < s.outer;
      const int32 tap = BACKWARD ? (task.down.last - y * STRIDE_Y) * WINDOW_X +
                                       task.across.last - x * STRIDE_X
                                 : (int32)(line / kDown);
      const int32 from = tap * matrix + (BACKWARD ? n * s.inner + c : c * s.outer + n);
      load_or_zero<kWidth>(numbers[i], w + from, there);
    }
#pragma unroll
    for (int32 i = 0; i < BATCH; ++i) {
      const uint32 pack = first + i * THREADS;
      if (pack >= kPacks) break;
      if (BACKWARD) {
        const uint32 place = pack / kAcross * kPackIn * TN + pack % kAcross;
#pragma unroll
        for (int32 j = 0; j < kWidth; ++j) to[place + j * TN] = to_float(numbers[i][j]);
      } else {
        Pack<float, kWidth> floats;
#pragma unroll
        for (int32 j = 0; j < kWidth; ++j) floats.at[j] = to_float(numbers[i][j]);
        store(to + pack * kWidth, floats);
      }
    }
  }
}

// Channel j of a thread stands at column_of(j) from its first on.
DEVICE int32 column_of(int32 j) { return j / 4 * COLUMN_GROUPS * 4 + j % 4; }

// sums += what a thread reads of one channel, by all taps.
DEVICE void multiply(float (&sums)[PX][RN], const float* source, const float* weights,
                     const Task& task) {
  constexpr int32 kRowsAtOnce = UNROLLED;
#pragma unroll kRowsAtOnce
  for (int32 y = 0; y < TAPS_Y; ++y) {
    if (!EVEN_TAPS && y >= task.down.taps) break;
    float x[(SPAN + WX - 1) / WX * WX];
#pragma unroll
    for (int32 i = 0; i < SPAN; i += WX) {
      const Pack<float, WX> pack = load<WX>(source + y * PITCH + i);
#pragma unroll
      for (int32 j = 0; j < WX; ++j) x[i + j] = pack.at[j];
    }
#pragma unroll
    for (int32 tap = 0; tap < TAPS_X; ++tap) {
      if (!EVEN_TAPS && tap >= task.across.taps) break;
      float b[RN];
#pragma unroll
      for (int32 j = 0; j < RN; j += 4) {
        const Pack<float, 4> pack =
            load<4>(weights + (y * TAPS_X + tap) * (DEPTH * TN) + column_of(j));
#pragma unroll
        for (int32 i = 0; i < 4; ++i) b[j + i] = pack.at[i];
      }
#pragma unroll
      for (int32 p = 0; p < PX; ++p) {
#pragma unroll
        for (int32 j = 0; j < RN; ++j) sums[p][j] = fmaf(x[p * STEP_X + tap], b[j], sums[p][j]);
      }
    }
  }
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) convolve_patch, R* result, const T* source, const T* w,
       Sizes s) {
  __shared__ __align__(16) float memory[MEMORY];
  float* const weights = memory;
  float* const pixels = memory + TAPS_Y * TAPS_X * DEPTH * TN;
  const Task task = task_of(s);
  if (task.row >= task.down.count || task.left >= task.across.count) return;

  const int32 split = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
  const int32 column = thread % COLUMN_GROUPS * 4, place = thread / COLUMN_GROUPS;
  const int32 segment = place % SEGMENTS * PX;
  const int32 row = place / SEGMENTS % ROWS, image = place / SEGMENTS / ROWS;
  const float* const mine =
      pixels + (image * PATCH_Y + row * STEP_Y) * PITCH + segment * STEP_X;
  float sums[PX][RN] = {};
  for (int32 channel = 0; channel < s.inner; channel += DEPTH) {
    if (channel > 0) __syncthreads();
    bring_source(pixels, source, s, task, channel);
    bring_weights(weights, w, s, task, channel);
    __syncthreads();
    const int32 channels = WHOLE_INNER ? DEPTH : min(DEPTH, s.inner - channel);
#pragma unroll 1
    for (int32 c = split; c < channels; c += SPLITS) {
      multiply(sums, mine + c * CHANNEL, weights + c * TN + column, task);
    }
  }
  if (SPLITS > 1) add_splits(sums, memory, split, thread, GROUP);

  const int32 y = task.row + row;
  if (split > 0 || y >= task.down.count || task.image + image >= s.images) return;
  const int32 height = BACKWARD ? s.slides.of[1].x : s.slides.of[1].y;
  const int32 width = BACKWARD ? s.slides.of[2].x : s.slides.of[2].y;
  const int32 apart = BACKWARD ? STRIDE_X : 1;
  const int64 line = (task.image + image) * height + task.down.to + y * (BACKWARD ? STRIDE_Y : 1);
  const int32 left = task.left + segment;
  result += (line * width + task.across.to + left * apart) * s.outer + task.column + column;
#pragma unroll
  for (int32 p = 0; p < PX; ++p) {
    if (left + p >= task.across.count) break;
#pragma unroll
    for (int32 j = 0; j < RN; j += WB) {
      if (!WHOLE_OUTER && task.column + column + column_of(j) >= s.outer) continue;
      Pack<R, WB> pack;
#pragma unroll
      for (int32 v = 0; v < WB; ++v) pack.at[v] = from_float<R>(sums[p][j + v]);
      store(result + p * apart * s.outer + column_of(j), pack);
    }
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t images;
  std::int32_t inner, outer;
  std::int32_t image_tiles, row_tiles, width_tiles, column_tiles;
};

}  // namespace

Launch slide_by_patches(const KernelArgs& args, const Sliding& s) {
  const Phases phases = phases_of(s);
  const int inner =
      s.backward ? width_of(s.inner(), 4, {&s.source, &s.w}) : width_of(s.inner(), 4, {&s.source});
  const int outer =
      s.backward ? width_of(s.outer(), 4, {&s.result}) : width_of(s.outer(), 4, {&s.result, &s.w});
  const Patch patch = patch_of(s, inner);
  const Sizes sizes{s.c.slides,
                    s.c.images,
                    static_cast<std::int32_t>(s.inner()),
                    static_cast<std::int32_t>(s.outer()),
                    tile_count(s.c.images, patch.images),
                    tile_count(phases.extents[1], patch.rows),
                    tile_count(phases.extents[2], patch.width()),
                    tile_count(s.outer(), patch.channels())};
  const std::string defines = define("T", s.source.type.dtype) + define("R", s.result.type.dtype) +
                              define("BACKWARD", std::int64_t{s.backward}) +
                              define("INNER_WIDTH", std::int64_t{inner}) +
                              define("OUTER_WIDTH", std::int64_t{outer}) + patch.defines(s);
  const Source source{"convolve_patch",
                      std::string(kGeometryText) + std::string(kSplitsText) + std::string(kText),
                      defines};
  return kernel_launch(stream_of(args), source, "convolve_patch",
                       {grid_of_tiles(patch.blocks(s)).blocks, static_cast<int>(patch.threads())},
                       s.result.data, s.source.data, s.w.data, sizes);
}

}  // namespace meshwork::cuda::windows
