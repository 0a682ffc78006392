// attention:         y = sum over s of p v, p the softmax of scale q k over the keys that count
// attention_log_sum: y = log of the sum over s of exp(scale q k)
//
// A block has a tile's rows of queries of a head. Keys are taken tile by tile; sums so far are
// scaled whenever a greater score appears (Milakov and Gimelshein, 2018; FlashAttention, Dao et
// al., 2022 and 2023). Scores are in powers of 2.
#include <algorithm>

#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/attention/variant.h"
#include "base/check.h"
#include "base/rounded_up.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr std::string_view kText = R"cuda(
// A multiprocessor has room for so many, at least: so many registers each may have.
#define BLOCKS (THREADS > 128 ? (WIDTH <= 64 ? 2 : 1) : WIDTH <= 64 ? 3 : WIDTH <= 128 ? 2 : 1)

// Of the rows of a thread, over the keys before: the greatest score, this lane's part of the sum of
// 2^(score - it), and the sum of values.
struct State {
  float most[ROWS];
  float sum[ROWS];
  Sums values;
};

// Scores, in place, to 2^(score - the greatest so far).
DEVICE void weigh(Scores& scores, State& state) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    float most = state.most[i];
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) most = fmaxf(most, scores.at[i][j]);
#pragma unroll
    for (int32 lanes = LANES_OF_ROW / 2; lanes > 0; lanes /= 2) {
      most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, lanes));
    }
    const float shift = most == -MW_INFINITY ? 0.0f : most;  // a row without a key
    const float rescale = exp2f(state.most[i] - shift);
    float sum = state.sum[i] * rescale;
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      scores.at[i][j] = exp2f(scores.at[i][j] - shift);
      sum += scores.at[i][j];
    }
    state.most[i] = most;
    state.sum[i] = sum;
#pragma unroll
    for (int32 j = 0; j < SUMS; ++j) state.values.at[i][j] *= rescale;
  }
}

// Sums over lanes, for all of them.
DEVICE void settle(State& state) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 lanes = LANES_OF_ROW / 2; lanes > 0; lanes /= 2) {
      state.sum[i] += __shfl_xor_sync(ALL_LANES, state.sum[i], lanes);
    }
  }
}

// A number for each row of a thread.
DEVICE void write_numbers(const float (&numbers)[ROWS], const Lines<float>& lines, int32 first) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    const int32 m = first + row_of(i);
    if (m < lines.count && lane() % LANES_OF_ROW == 0) *line(lines, m) = numbers[i];
  }
}

DEVICE float log_sum_of(float most, float sum) {
  return sum == 0.0f ? NO_KEYS : most * LN_2 + logf(sum);
}

DEVICE void write_results(const State& state, T* y, float* log_sums, const Operands& x,
                          const Task& task) {
  float numbers[ROWS];
  if (y != 0) {
#pragma unroll
    for (int32 i = 0; i < ROWS; ++i) numbers[i] = state.sum[i] == 0.0f ? 0.0f : 1.0f / state.sum[i];
    write(state.values, numbers, query_lines(x, task.head, y, x.e), task.first, task.column);
  }
  if (log_sums != 0 && task.column == 0) {
#pragma unroll
    for (int32 i = 0; i < ROWS; ++i) numbers[i] = log_sum_of(state.most[i], state.sum[i]);
    write_numbers(numbers, log_sum_lines(x, task.head, log_sums), task.first);
  }
}

// What one split of the keys gives: of all lines the values [lines, e], the greatest scores [lines]
// and the sums [lines].
struct Part {
  float *values, *most, *sum;
};
DEVICE Part part_of(float* parts, int32 split, int64 lines, int32 e) {
  float* const values = parts + split * lines * (e + 2);
  return {values, values + lines * e, values + lines * (e + 1)};
}

DEVICE void write_part(const State& state, float* parts, const Operands& x, const Task& task) {
  const Part part = part_of(parts, task.split, (int64)x.b * x.t * x.g * x.r, x.e);
  float ones[ROWS];
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) ones[i] = 1.0f;
  write(state.values, ones, query_lines(x, task.head, part.values, x.e), task.first, task.column);
  if (task.column > 0) return;
  write_numbers(state.most, query_lines(x, task.head, part.most, 1), task.first);
  write_numbers(state.sum, query_lines(x, task.head, part.sum, 1), task.first);
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) attention,
       T* y, float* log_sums, float* parts, int32 splits, const T* q, const T* k, const T* v,
       int32 is_aligned, Operands x) {
  MAKE_ROOM(room);
  const Task task = task_of(x, x.t * x.r, y == 0 ? 0 : x.e, splits, true);
  const Head& head = task.head;
  const Lines<const T> queries = query_lines(x, head, q, x.d);
  const Lines<const T> keys = key_lines(x, head, k, x.d), values = key_lines(x, head, v, x.e);
  State state;
  clear(state.values.at);
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    state.most[i] = -MW_INFINITY;
    state.sum[i] = 0.0f;
  }
  const Fixed fixed_queries = fixed(queries, task.first, is_aligned, room);
  const Range range = keys_of(x, head, task.first);
  const int32 tiles = (x.s + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const int32 of_split = (tiles + splits - 1) / splits * TILE_COLUMNS;
  const int32 begin = max(range.begin, task.split * of_split);
  const int32 end = min(range.end, (task.split + 1) * of_split);
  for (int32 s = begin; s < end; s += TILE_COLUMNS) {
    const uint32 seen = visible<true>(x, head, task.first, s);
    if (!__syncthreads_or(seen != 0)) continue;
    const Tile of_keys = tile(keys, s, 0, is_aligned, room);
    const Tile of_values = y == 0 ? of_keys : tile(values, s, 1, is_aligned, room);
    all_there();
    Scores scores;
    dots(scores, fixed_queries, of_keys, is_aligned, room);
    multiply(scores, x.scale * LOG2_E);
    select(scores, seen, -MW_INFINITY);
    weigh(scores, state);
    if (y == 0) continue;
    drop(scores, x, kept<true>(x, head, task.first, s));
    add_products(state.values, scores, of_values, task.column, is_aligned, room);
  }
  settle(state);
  if (parts != 0) {
    write_part(state, parts, x, task);
  } else {
    write_results(state, y, log_sums, x, task);
  }
}

// Where the log_sum of a line stands.
DEVICE int64 log_sum_place(const Operands& x, int64 line) {
  if (!x.by_head) return line;
  const int64 heads = (int64)x.g * x.r, query = line / heads, sample = query / x.t;
  return (sample * heads + line - query * heads) * x.t + query - sample * x.t;
}

// Results of the parts of all splits.
KERNEL(attention_merge, T* y, float* log_sums, float* parts, int32 splits, Operands x) {
  const int64 lines = (int64)x.b * x.t * x.g * x.r;
  const int32 e = x.e;
  const int32 columns = y != 0 ? max(1, e) : 1;
  FOR_EACH(n, lines * columns) {
    const int64 i = n / columns;
    const int32 c = (int32)(n % columns);
    float most = -MW_INFINITY, sum = 0.0f, value = 0.0f;
    for (int32 split = 0; split < splits; ++split) {
      most = fmaxf(most, part_of(parts, split, lines, e).most[i]);
    }
    const float shift = most == -MW_INFINITY ? 0.0f : most;
    for (int32 split = 0; split < splits; ++split) {
      const Part part = part_of(parts, split, lines, e);
      const float weight = exp2f(part.most[i] - shift);
      sum += weight * part.sum[i];
      if (y != 0 && c < e) value += weight * part.values[i * e + c];
    }
    if (y != 0 && c < e) y[n] = from_float<T>(sum == 0.0f ? 0.0f : value / sum);
    if (log_sums != 0 && c == 0) log_sums[log_sum_place(x, i)] = log_sum_of(most, sum);
  }
}
)cuda";

/// So many blocks fill a GPU, whichever it is.
constexpr std::int64_t kEnoughBlocks = 256;
/// Fewer keys are not worth a part of their own.
constexpr std::int64_t kFewestKeys = 128;

std::int64_t lines_of(const Request& request) {
  const Shape& q = request.inputs[0].type.shape;
  return num_elements({q.begin(), q.end() - 1});
}

/// In how many parts blocks of their own take the keys: of a few queries, those that are generated,
/// heads alone would leave most of a GPU idle.
std::int64_t splits_of(const Request& request) {
  const Shape& q = request.inputs[0].type.shape;
  const std::int64_t blocks = q[0] * q[2] * ceil_divide(q[1] * q[3], 64);
  if (blocks == 0) return 1;
  const std::int64_t keys = request.inputs[1].type.shape[1];
  return std::max<std::int64_t>(1, std::min(kEnoughBlocks / blocks, keys / kFewestKeys));
}

}  // namespace

std::int64_t forward_workspace(const Request& request) {
  const std::int64_t splits = splits_of(request);
  if (splits == 1) return 0;
  const std::int64_t columns = request.inputs[2].type.shape.back() + 2;
  return splits * lines_of(request) * columns * static_cast<std::int64_t>(sizeof(float));
}

Launch forward(const Request& request) {
  const Operands x = operands_of(request, kAttentionOperands);
  const auto [y, log_sum] = addresses<2>(request.outputs);
  const auto [q, k, v] = addresses<kAttentionOperands>(request.inputs);
  const Variant variant = variant_of(request, y == nullptr ? 0 : x.e);
  const Source source = source_of("attention", {kText}, variant);
  const auto splits = static_cast<std::int32_t>(splits_of(request));
  std::byte* const parts = splits == 1 ? nullptr : request.workspace;
  MW_CHECK(splits == 1 || parts != nullptr, "no workspace");
  Grid grid = grid_of(variant, std::int64_t{x.t} * x.r, x);
  grid.blocks *= splits;
  const Launch attend =
      kernel_launch(*request.stream, source, source.name, grid, y, log_sum, parts, splits, q, k, v,
                    are_aligned(request, kAttentionOperands, variant), x);
  if (splits == 1) return attend;
  const std::int64_t lines = lines_of(request);
  const std::int64_t columns = y == nullptr ? 1 : std::max(1, x.e);
  const Launch merge = kernel_launch(*request.stream, source, "attention_merge",
                                     cuda::grid_of(lines * columns), y, log_sum, parts, splits, x);
  return [attend, merge] {
    attend();
    merge();
  };
}

}  // namespace meshwork::cuda::attention
