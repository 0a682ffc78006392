// y[r, d] = sum of dy[i, d] over the positions i where index[i] is r, in the order of positions;
// rows are counted over the whole table. First the positions are sorted by row, then a thread adds
// up a few columns of a row in registers. Rows of many positions have blocks of their own, which
// read ahead.
#include <algorithm>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr int kBlockRows = 512;      // that a block sorts positions of, one for each thread
constexpr std::int64_t kMany = 128;  // positions
constexpr std::int64_t kSlice = 32;  // columns of a block for a row of many positions

// start[r]: of row r in `sorted`; start[rows]: the end of all.
//
// A block finds the positions of its own ROWS. Each of its warps goes through a share of all
// positions twice: to count them by row, and to write them down where the rows and the warps before
// leave off.
constexpr char kSortText[] = R"cuda(
#define WARPS (ROWS / 32)

// The sum over the block's threads before this one.
DEVICE int32 sum_before(int32 value) {
  __shared__ int32 of_warps[WARPS];
  const int32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int32 sum = value;
  for (int32 distance = 1; distance < 32; distance *= 2) {
    const int32 other = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  for (int32 w = 0; w < warp; ++w) sum += of_warps[w];
  return sum - value;
}

KERNEL(sort_positions, int32* start, int32* sorted, const int32* index, int64 first, int64 rows,
       int64 positions) {
  __shared__ int32 places[WARPS][ROWS];
  __shared__ int32 before;
  const int32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64 top = (int64)blockIdx.x * ROWS, bottom = min(top + ROWS, rows);
  for (int32 w = 0; w < WARPS; ++w) places[w][threadIdx.x] = 0;
  if (threadIdx.x == 0) before = 0;
  __syncthreads();

  const int64 share = (positions + WARPS * 128 - 1) / (WARPS * 128) * 128;
  const int64 begin = min(warp * share, positions), end = min(begin + share, positions);
  int32 above = 0;
#pragma unroll 4
  for (int64 i = begin + lane; i < end; i += 32) {
    const int64 row = index[i] - first;
    if (row >= top && row < bottom) atomicAdd(&places[warp][row - top], 1);
    above += row >= 0 && row < top;
  }
  if (above > 0) atomicAdd(&before, above);
  __syncthreads();

  const int32 own = threadIdx.x;
  int32 count = 0;
  for (int32 w = 0; w < WARPS; ++w) count += places[w][own];
  int32 place = before + sum_before(count);
  if (top + own < rows) start[top + own] = place;
  if (top + own == rows - 1) start[rows] = place + count;
  for (int32 w = 0; w < WARPS; ++w) {
    const int32 of_warp = places[w][own];
    places[w][own] = place;
    place += of_warp;
  }
  __syncthreads();

  for (int64 first_lane = begin; first_lane < end; first_lane += 128) {
    const int64 i = first_lane + lane;
    int64 read[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) read[u] = i + u * 32 < end ? index[i + u * 32] - first : -1;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const bool is_own = read[u] >= top && read[u] < bottom;
      const int32 row = is_own ? (int32)(read[u] - top) : -1;
      // Row by row; its lanes in order.
      for (uint32 left = __ballot_sync(0xffffffffu, is_own); left != 0;) {
        const int32 leader = __ffs((int32)left) - 1;
        const int32 now = __shfl_sync(0xffffffffu, row, leader);
        const uint32 same = __ballot_sync(0xffffffffu, row == now);
        const int32 from = places[warp][now];
        __syncwarp();
        if (row == now) sorted[from + __popc(same & ((1u << lane) - 1))] = (int32)(i + u * 32);
        if (lane == leader) places[warp][now] = from + __popc(same);
        __syncwarp();
        left &= ~same;
      }
    }
  }
}
)cuda";

constexpr char kSumText[] = R"cuda(
// A thread adds up a group of columns; a row has `width` of them.
KERNEL(sum_rows, Group<TO>* y, const Group<FROM>* dy, const int32* start, const int32* sorted,
       Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index row = (Index)i;
    const Index column = take_last(row, width);
    const int32 begin = start[row], end = start[row + 1];
    if (end - begin > MANY) continue;
    float sum[N];
#pragma unroll
    for (int n = 0; n < N; ++n) sum[n] = 0;
#pragma unroll 4
    for (int32 k = begin; k < end; ++k) {
      const Group<FROM> more = dy[sorted[k] * (int64)width.value + column];
#pragma unroll
      for (int n = 0; n < N; ++n) sum[n] += to_float(more.v[n]);
    }
    Group<TO> result;
#pragma unroll
    for (int n = 0; n < N; ++n) result.v[n] = from_float<TO>(sum[n]);
    y[i] = result;
  }
}
)cuda";

// A block for each MANY sorted positions and slice of 32 columns. It takes the row to which the
// first of these positions belongs, if that has more than MANY and no block before took it. Warps
// read positions ahead, and the first of them adds them up.
constexpr char kSumManyText[] = R"cuda(
#define AHEAD (MANY / 8)

KERNEL(sum_many, TO* y, const FROM* dy, const int32* index, const int32* start, const int32* sorted,
       int64 first, int64 rows, int64 width, Divisor slices) {
  __shared__ float tile[MANY][32];
  Index part = blockIdx.x;
  const int64 column = (int64)take_last(part, slices) * 32 + threadIdx.x % 32;
  const int64 own = (int64)part * MANY;
  if (own >= start[rows]) return;
  const int64 row = index[sorted[own]] - first;
  const int64 begin = start[row], end = start[row + 1];
  if (end - begin <= MANY || begin <= own - MANY) return;
  const int32 x = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  float ahead[AHEAD];
  for (int64 k = begin - MANY; k < end; k += MANY) {
    // Of these positions the sum, of the next ones the numbers.
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
      const int64 next = k + MANY + warp + a * 8;
      const bool is_there = next < end && column < width;
      ahead[a] = is_there ? to_float(dy[sorted[next] * width + column]) : 0;
    }
    if (warp == 0 && k >= begin) {
      for (int64 r = 0; r < min(end - k, (int64)MANY); ++r) sum += tile[r][x];
    }
    __syncthreads();
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) tile[warp + a * 8][x] = ahead[a];
    __syncthreads();
  }
  if (warp == 0 && column < width) y[row * width + column] = from_float<TO>(sum);
}
)cuda";

struct Sizes {
  std::int64_t rows, width, positions;
};

Sizes sizes_of(const KernelArgs& args) {
  const Shape& table = args.output.type.shape;
  return {table[0], table[1], num_elements(args.inputs[1].type.shape)};
}

/// The workspace.
struct Sorted {
  std::byte* start;
  std::byte* positions;
};

std::int64_t start_bytes(const Sizes& sizes) { return (sizes.rows + 64) / 64 * 64 * 4; }

std::string define_types(const KernelArgs& args) {
  return define("FROM", args.inputs[0].type.dtype) + define("TO", args.output.type.dtype) +
         define("MANY", kMany);
}

Launch sort_positions(const KernelArgs& args, const Sizes& sizes, const Sorted& sorted) {
  const Source source{"sort_positions", kSortText, define("ROWS", kBlockRows)};
  const Grid grid{(sizes.rows + kBlockRows - 1) / kBlockRows, kBlockRows};
  return kernel_launch(stream_of(args), source, source.name, grid, sorted.start, sorted.positions,
                       args.inputs[1].data, args.output.region.offset[0], sizes.rows,
                       sizes.positions);
}

Launch sum_rows(const KernelArgs& args, const Sizes& sizes, const Sorted& sorted) {
  const auto together = [&](const TensorView& view) {
    const auto size = static_cast<std::int64_t>(size_of(view.type.dtype));
    return word_bytes({address_of(view.data), sizes.width * size}) / size;
  };
  const TensorView &dy = args.inputs[0], &y = args.output;
  const std::int64_t n = std::min(together(dy), together(y));
  const std::int64_t count = num_elements(y.type.shape) / n;
  const Source source{"sum_rows", std::string(kIndexText) + std::string(kGroupText) + kSumText,
                      define_index(count) + define_types(args) + define("N", n)};
  return launch_over(args, source, count, y.data, dy.data, sorted.start, sorted.positions,
                     divisor_of(sizes.width / n), count);
}

Launch sum_many(const KernelArgs& args, const Sizes& sizes, const Sorted& sorted) {
  const std::int64_t slices = (sizes.width + kSlice - 1) / kSlice;
  const std::int64_t parts = (sizes.positions + kMany - 1) / kMany;
  const std::int64_t blocks = parts > 1 ? parts * slices : 0;
  const Source source{"sum_many", std::string(kIndexText) + kSumManyText,
                      define_index(blocks) + define_types(args)};
  return kernel_launch(stream_of(args), source, source.name, {blocks, 256}, args.output.data,
                       args.inputs[0].data, args.inputs[1].data, sorted.start, sorted.positions,
                       args.output.region.offset[0], sizes.rows, sizes.width, divisor_of(slices));
}

}  // namespace

std::int64_t embedding_gradient_workspace(const KernelArgs& args) {
  const Sizes sizes = sizes_of(args);
  return start_bytes(sizes) + 4 * sizes.positions;
}

Launch embedding_gradient(const KernelArgs& args) {
  const Sizes sizes = sizes_of(args);
  MW_CHECK(args.inputs[1].type.dtype == DType::kInt32);
  MW_CHECK(sizes.positions < std::int64_t{1} << 31, "{} positions", sizes.positions);
  if (num_elements(args.output.type.shape) == 0) return [] {};
  const Sorted sorted{args.workspace, args.workspace + start_bytes(sizes)};
  return [sort = sort_positions(args, sizes, sorted), few = sum_rows(args, sizes, sorted),
          many = sum_many(args, sizes, sorted)] {
    sort();
    few();
    many();
  };
}

}  // namespace meshwork::cuda
