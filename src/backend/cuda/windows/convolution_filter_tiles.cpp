// The gradient of a convolution's kernel in tiles of products (convolution_filter.cpp).
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/convolution.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
#define WA (IN_WIDTH < RM ? IN_WIDTH : RM)
#define WB (OUT_WIDTH < RN ? OUT_WIDTH : RN)
#define WY (OUT_WIDTH < CN ? OUT_WIDTH : CN)
#define NOWHERE (-(1 << 30))

struct Sizes {
  Slides slides;
  int64 positions, part;   // of a part
  int32 groups, in, out;   // channels and filters of a group
  int32 row_tiles, column_tiles;
};

// A position of a result, and the image of x that it reads.
struct Position {
  int64 image;
  int32 o[3];

  DEVICE Position at(int64 place, const Slides& s) {
    Position p;
    const int32 pixels = s.of[0].y * s.of[1].y * s.of[2].y;
    p.image = place / pixels;
    int32 rest = (int32)(place - p.image * pixels);
    p.o[2] = rest % s.of[2].y;
    rest /= s.of[2].y;
    p.o[1] = rest % s.of[1].y;
    p.o[0] = rest / s.of[1].y;
    return p;
  }
  DEVICE void advance(Position& p, int32 places, const Slides& s) {
    p.o[2] += places;
    while (p.o[2] >= s.of[2].y) {
      p.o[2] -= s.of[2].y;
      if (++p.o[1] < s.of[1].y) continue;
      p.o[1] = 0;
      if (++p.o[0] < s.of[0].y) continue;
      p.o[0] = 0;
      ++p.image;
    }
  }
};

// The rows of a tile: channels of x under a tap.
struct Rows {
  int32 shift[TM][4];  // from where a position reads first: along each dimension, in pixels
  int32 channel[TM];
};

DEVICE void list_rows(Rows& rows, const Sizes& s, const Task& task) {
  if (threadIdx.x >= TM) return;
  const int32 row = threadIdx.x, line = task.row_tile * TM + row;
  int32 k = line / s.in, pixels = 0, pitch = 1;
  rows.channel[row] = task.group * s.in + line % s.in;
#pragma unroll
  for (int32 d = 2; d >= 0; --d) {
    const Slide& slide = s.slides.of[d];
    const int32 shift = k % slide.window * slide.dilation - slide.padding;
    rows.shift[row][d] = shift;
    pixels += shift * pitch;
    pitch *= slide.x;
    k /= slide.window;
  }
  rows.shift[row][3] = pixels;
  if (k > 0) rows.shift[row][0] = NOWHERE;
}

// What is summed are positions: a thread has one of a slice, and brings every 16th WA rows of it.
struct Source {
  Position position;
  T numbers[RM];

  DEVICE int32 row_of_pack(int32 i) { return (threadIdx.x % 16 + i / WA * 16) * WA; }
  DEVICE int32 place() { return threadIdx.x / 16; }

  __device__ Source(const Sizes& s, int64 begin)
      : position(Position::at(begin + place(), s.slides)) {}
  __device__ void read(const T* x, const Rows& rows, const Sizes& s, bool has_position) {
    const int64 channels = (int64)s.groups * s.in;
    int32 first[3];
    int64 origin = position.image;
#pragma unroll
    for (int32 d = 0; d < 3; ++d) {
      const Slide& slide = s.slides.of[d];
      first[d] = position.o[d] * slide.stride;
      origin = origin * slide.x + first[d];
    }
    const T* const from = x + origin * channels;
#pragma unroll
    for (int32 i = 0; i < RM; i += WA) {
      const int32 row = row_of_pack(i);
      const Pack<int32, 4> shift = load<4>(rows.shift[row]);
      bool there = has_position;
#pragma unroll
      for (int32 d = 0; d < 3; ++d) there = there && has(s.slides.of[d].x, first[d] + shift.at[d]);
      load_or_zero<WA>(numbers + i, from + (shift.at[3] * channels + rows.channel[row]), there);
    }
    Position::advance(position, DEPTH, s.slides);
  }
  __device__ void write(float (&to)[DEPTH][TM + 4]) const {
#pragma unroll
    for (int32 i = 0; i < RM; ++i) {
      to[place()][row_of_pack(i) + i % WA] = to_float(numbers[i]);
    }
  }
};

KERNEL(__launch_bounds__(THREADS, BLOCKS) convolve_filter, R* w, const T* x, const T* y, Sizes s) {
  __shared__ Tiles tiles;
  __shared__ __align__(16) Rows rows;
  const Task task = task_of(s.row_tiles, s.column_tiles, s.groups);
  const int64 begin = task.product * s.part, end = min(begin + s.part, s.positions);
  const int64 filters = (int64)s.groups * s.out;
  const int32 first = task.group * s.out + task.column_tile * TN;
  const int32 columns = s.out - task.column_tile * TN;
  const int32 lines =
      s.slides.of[0].window * s.slides.of[1].window * s.slides.of[2].window * s.in;

  float sums[RM][RN] = {};
  const int32 slices = (int32)((end - begin + DEPTH - 1) / DEPTH);
  if (slices > 0) {
    list_rows(rows, s, task);
    __syncthreads();
    Source source(s, begin);
    T numbers[RN];
    for (int32 slice = 0; slice <= slices; ++slice) {
      if (slice < slices) {
        const int64 place = begin + (int64)slice * DEPTH;
        source.read(x, rows, s, place + Source::place() < end);
        Matrix<WB>::read(numbers, y + first, filters, place, end, columns);
      }
      if (slice > 0) multiply(sums, tiles, (slice - 1) % 2);
      if (slice < slices) {
        source.write(tiles.a[slice % 2]);
        Matrix<WB>::write(tiles.b[slice % 2], numbers);
      }
      __syncthreads();
    }
  }

  w += (int64)task.product * lines * filters + first;
#pragma unroll
  for (int32 i = 0; i < RM; ++i) {
    const int32 line = task.row_tile * TM + row_of(i);
    if (line < lines) write_row<WY>(w + line * filters, sums[i], columns);
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t positions, part;
  std::int32_t groups, in, out;
  std::int32_t row_tiles, column_tiles;
};

/// Parts are there to make blocks many: tiles are as large as rows and columns let them.
Tile filter_tile(const Convolution& c) {
  return {c.depth() <= 64 ? 64 : 128, c.out <= 32 ? 32 : c.out <= 64 || c.depth() <= 64 ? 64 : 128};
}

/// Elements in 16 bytes.
int words(const TensorView& x) { return static_cast<int>(16 / size_of(x.type.dtype)); }

}  // namespace

std::int64_t filter_tiles(const Convolution& c) {
  const Tile tile = filter_tile(c);
  return c.groups * tiles_over(c.depth(), tile.rows) * tiles_over(c.out, tile.columns);
}

Launch filter_by_tiles(const KernelArgs& args, const FilterParts& f) {
  const Convolution& c = f.c;
  const Tile tile = filter_tile(c);
  const std::int64_t row_tiles = tiles_over(c.depth(), tile.rows),
                     column_tiles = tiles_over(c.out, tile.columns);
  const Sizes sizes{c.slides,
                    f.positions(),
                    f.part,
                    static_cast<std::int32_t>(c.groups),
                    static_cast<std::int32_t>(c.in),
                    static_cast<std::int32_t>(c.out),
                    static_cast<std::int32_t>(row_tiles),
                    static_cast<std::int32_t>(column_tiles)};
  const int in = width_of(c.in, words(f.x), {&f.x}), out = width_of(c.out, 4, {&f.y, &f.result});
  const std::string defines = define("T", f.x.type.dtype) + define("R", f.result.type.dtype) +
                              define_tile(tile) + define("IN_WIDTH", std::int64_t{in}) +
                              define("OUT_WIDTH", std::int64_t{out});
  const Source source{
      "convolve_filter",
      std::string(kGeometryText) + std::string(kWindowTilesText) + std::string(kText), defines};
  return kernel_launch(stream_of(args), source, "convolve_filter",
                       grid_of_tiles(f.parts * filter_tiles(c)), f.result.data, f.x.data, f.y.data,
                       sizes);
}

}  // namespace meshwork::cuda::windows
