// A convolution or its gradient with respect to x as a product: rows are pixels of the result,
// columns its channels, summed are the taps of a window times the channels of the source. Tiles of
// the source are gathered as they are needed. Of x those pixels make one product that are read by
// the same taps: every stride-th along each dimension (a phase).
#include <string>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/convolution.h"
#include "backend/cuda/windows/tiles.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kText = R"cuda(
#define WA (INNER_WIDTH < RM ? INNER_WIDTH : RM)
#if BACKWARD
#define WB (INNER_WIDTH < RN ? INNER_WIDTH : RN)
#else
#define WB (OUTER_WIDTH < RN ? OUTER_WIDTH : RN)
#endif
#define WY (OUTER_WIDTH < CN ? OUTER_WIDTH : CN)

struct Sizes {
  Slides slides;
  int64 images;
  int32 groups, inner, outer;  // channels of a group: of the source, of the result
  int32 row_tiles, column_tiles;
};

// Dimension d of it.
DEVICE Axis axis_of(const Sizes& s, int32 phase, int32 d) {
#if BACKWARD
#pragma unroll
  for (int32 i = 2; i > d; --i) phase /= min(s.slides.of[i].stride, s.slides.of[i].x);
  const Slide& slide = s.slides.of[d];
  return backward_axis(slide, phase % min(slide.stride, slide.x));
#else
  return forward_axis(s.slides.of[d]);
#endif
}

// A place among what is summed: channel c of the source under tap j.
struct Term {
  int32 c, j[3];

  DEVICE void advance(Term& t, int32 terms, int32 inner, const Axis* axes) {
    t.c += terms;
    while (t.c >= inner) {
      t.c -= inner;
      if (++t.j[2] < axes[2].taps) continue;
      t.j[2] = 0;
      if (++t.j[1] < axes[1].taps) continue;
      t.j[1] = 0;
      ++t.j[0];
    }
  }
};

// A pixel of the result: where its windows begin in the source's image, and where it stands.
template <class N>
struct Pixel {
  const N* image;  // nullptr: none
  int32 first[3];
  int64 to;
};

template <class N>
DEVICE Pixel<N> pixel_of(const N* source, const Sizes& s, const Axis* axes, int64 row) {
  const int32 count = axes[0].count * axes[1].count * axes[2].count;
  const int64 image = row / count;
  Pixel<N> pixel{nullptr, {0, 0, 0}, -1};
  if (image >= s.images) return pixel;
  int32 rest = (int32)(row - image * count);
  int32 q[3];
  q[2] = rest % axes[2].count;
  rest /= axes[2].count;
  q[1] = rest % axes[1].count;
  q[0] = rest / axes[1].count;
  int64 from = image, to = image;
#pragma unroll
  for (int32 d = 0; d < 3; ++d) {
    const Axis& axis = axes[d];
    pixel.first[d] = axis.first + q[d] * axis.step;
    from *= axis.source;
    to = to * (BACKWARD ? s.slides.of[d].x : s.slides.of[d].y) + axis.to + q[d] * axis.to_step;
  }
  pixel.image = source + from * s.groups * s.inner;
  pixel.to = to * s.groups * s.outer;
  return pixel;
}

struct SourceLines : Lines<TM> {
  DEVICE void read(T (&to)[kCount], const Pixel<T>& pixel, Term& t, const Sizes& s,
                   const Axis* axes) {
    const int32 channels = s.groups * s.inner;
#pragma unroll
    for (int32 i = 0; i < kCount; i += WA) {
      bool there = pixel.image != nullptr && t.j[0] < axes[0].taps;
      int32 at = 0;
#pragma unroll
      for (int32 d = 0; d < 3; ++d) {
        const int32 place = pixel.first[d] + t.j[d] * axes[d].reach;
        there = there && has(axes[d].source, place);
        at = at * axes[d].source + place;
      }
      load_or_zero<WA>(to + i, pixel.image + ((int64)at * channels + t.c), there);
      Term::advance(t, i + WA < kCount ? WA : WA + DEPTH - kCount, s.inner, axes);
    }
  }
};

#if BACKWARD
// Columns are channels of x, lines of w: terms of a channel lie side by side.
struct Weights : Lines<TN> {
  Term term;
  T numbers[kCount];
  const T* line;  // nullptr: none

  __device__ Weights(const T* w, const Sizes& s, const Task& task, const Axis* axes)
      : term{0, {0, 0, 0}} {
    const int32 column = task.column_tile * TN + row();
    const int64 filters = (int64)s.groups * s.inner;
    line = column < s.outer ? w + column * filters + task.group * s.inner : nullptr;
    Term::advance(term, first(), s.inner, axes);
  }
  __device__ void read(const Sizes& s, const Axis* axes, int32, int32) {
    const int64 matrix = (int64)s.groups * s.inner * s.outer;
#pragma unroll
    for (int32 i = 0; i < kCount; i += WB) {
      int32 place = 0;
#pragma unroll
      for (int32 d = 0; d < 3; ++d) {
        place = place * s.slides.of[d].window + axes[d].k + term.j[d] * axes[d].k_step;
      }
      load_or_zero<WB>(numbers + i, line + (place * matrix + term.c),
                       line != nullptr && term.j[0] < axes[0].taps);
      Term::advance(term, i + WB < kCount ? WB : WB + DEPTH - kCount, s.inner, axes);
    }
  }
  __device__ void write(float (&to)[DEPTH][TN]) const { Lines<TN>::write(to, numbers); }
};
#else
// w is the matrix already.
struct Weights {
  const T* first;
  int32 columns;
  T numbers[RN];

  __device__ Weights(const T* w, const Sizes& s, const Task& task, const Axis*) {
    first = w + (task.group * s.outer + task.column_tile * TN);
    columns = s.outer - task.column_tile * TN;
  }
  __device__ void read(const Sizes& s, const Axis*, int32 slice, int32 terms) {
    Matrix<WB>::read(numbers, first, (int64)s.groups * s.outer, slice * DEPTH, terms, columns);
  }
  __device__ void write(float (&to)[DEPTH][TN]) const { Matrix<WB>::write(to, numbers); }
};
#endif

KERNEL(__launch_bounds__(THREADS, BLOCKS) convolve, R* result, const T* source, const T* w,
       Sizes s) {
  __shared__ Tiles tiles;
  __shared__ Axis axes[3];
  __shared__ int64 to[TM];
  const Task task = task_of(s.row_tiles, s.column_tiles, s.groups);
  if (threadIdx.x == 0) {
#pragma unroll
    for (int32 d = 0; d < 3; ++d) axes[d] = axis_of(s, task.product, d);
  }
  __syncthreads();
  const int64 rows = s.images * axes[0].count * axes[1].count * axes[2].count;
  if ((int64)task.row_tile * TM >= rows) return;
  Pixel<T> pixel =
      pixel_of(source, s, axes, (int64)task.row_tile * TM + SourceLines::row());
  if (pixel.image != nullptr) pixel.image += task.group * s.inner;
  if (threadIdx.x < TM) to[threadIdx.x] = pixel.to;

  float sums[RM][RN] = {};
  const int32 terms = axes[0].taps * axes[1].taps * axes[2].taps * s.inner;
  const int32 slices = (terms + DEPTH - 1) / DEPTH;
  if (slices > 0) {
    T numbers[SourceLines::kCount];
    Term term{0, {0, 0, 0}};
    Term::advance(term, SourceLines::first(), s.inner, axes);
    Weights weights(w, s, task, axes);
    for (int32 slice = 0; slice <= slices; ++slice) {
      if (slice < slices) {
        SourceLines::read(numbers, pixel, term, s, axes);
        weights.read(s, axes, slice, terms);
      }
      if (slice > 0) multiply(sums, tiles, (slice - 1) % 2);
      if (slice < slices) {
        SourceLines::write(tiles.a[slice % 2], numbers);
        weights.write(tiles.b[slice % 2]);
      }
      __syncthreads();
    }
  } else {
    __syncthreads();
  }

  const int32 column = task.column_tile * TN;
#pragma unroll
  for (int32 i = 0; i < RM; ++i) {
    const int64 place = to[row_of(i)];
    if (place < 0) continue;
    write_row<WY>(result + place + task.group * s.outer + column, sums[i], s.outer - column);
  }
}
)cuda";

struct Sizes {
  Slides slides;
  std::int64_t images;
  std::int32_t groups, inner, outer;
  std::int32_t row_tiles, column_tiles;
};

}  // namespace

Launch slide_by_tiles(const KernelArgs& args, const Sliding& s) {
  const Phases phases = phases_of(s);
  const std::int64_t rows = s.c.images * phases.pixels();
  const std::int64_t stacks = phases.number * s.c.groups;
  const Tile tile = tile_of(stacks, rows, s.outer());
  const std::int64_t row_tiles = tiles_over(rows, tile.rows),
                     column_tiles = tiles_over(s.outer(), tile.columns);
  const Sizes sizes{s.c.slides,
                    s.c.images,
                    static_cast<std::int32_t>(s.c.groups),
                    static_cast<std::int32_t>(s.inner()),
                    static_cast<std::int32_t>(s.outer()),
                    static_cast<std::int32_t>(row_tiles),
                    static_cast<std::int32_t>(column_tiles)};
  const int inner =
      s.backward ? width_of(s.inner(), 8, {&s.source, &s.w}) : width_of(s.inner(), 8, {&s.source});
  const int outer =
      s.backward ? width_of(s.outer(), 4, {&s.result}) : width_of(s.outer(), 4, {&s.result, &s.w});
  const std::string defines = define("T", s.source.type.dtype) + define("R", s.result.type.dtype) +
                              define_tile(tile) + define("BACKWARD", std::int64_t{s.backward}) +
                              define("INNER_WIDTH", std::int64_t{inner}) +
                              define("OUTER_WIDTH", std::int64_t{outer});
  const Source source{
      "convolve", std::string(kGeometryText) + std::string(kWindowTilesText) + std::string(kText),
      defines};
  return kernel_launch(stream_of(args), source, "convolve",
                       grid_of_tiles(stacks * row_tiles * column_tiles), s.result.data,
                       s.source.data, s.w.data, sizes);
}

}  // namespace meshwork::cuda::windows
