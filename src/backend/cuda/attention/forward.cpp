// attention:         y = sum over s of p v, p the softmax of scale q k over the keys that count
// attention_log_sum: y = log of the sum over s of exp(scale q k)
//
// A block has a tile's rows of queries of a head. Keys are taken tile by tile; sums so far are
// scaled whenever a greater score appears (Milakov and Gimelshein, 2018; FlashAttention, Dao et
// al., 2022 and 2023). Scores are in powers of 2.
#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/attention/variant.h"
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

DEVICE void write_log_sums(const State& state, const Lines<float>& lines, int32 first) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    const int32 m = first + row_of(i);
    if (m >= lines.count || lane() % LANES_OF_ROW != 0) continue;
    *line(lines, m) = state.sum[i] == 0.0f ? NO_KEYS : state.most[i] * LN_2 + logf(state.sum[i]);
  }
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) attention,
       T* y, float* log_sums, const T* q, const T* k, const T* v, int32 is_aligned, Operands x) {
  MAKE_ROOM(room);
  const Task task = task_of(x, x.t * x.r, y == 0 ? 0 : x.e, true);
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
  for (int32 s = range.begin; s < range.end; s += TILE_COLUMNS) {
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
  float factors[ROWS];
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 lanes = LANES_OF_ROW / 2; lanes > 0; lanes /= 2) {
      state.sum[i] += __shfl_xor_sync(ALL_LANES, state.sum[i], lanes);
    }
    factors[i] = state.sum[i] == 0.0f ? 0.0f : 1.0f / state.sum[i];
  }
  if (y != 0) {
    write(state.values, factors, query_lines(x, head, y, x.e), task.first, task.column);
  }
  if (log_sums != 0 && task.column == 0) {
    write_log_sums(state, query_lines(x, head, log_sums, 1), task.first);
  }
}
)cuda";

}  // namespace

Launch forward(const Request& request) {
  const Operands x = operands_of(request, kAttentionOperands);
  const auto [y, log_sum] = addresses<2>(request.outputs);
  const auto [q, k, v] = addresses<kAttentionOperands>(request.inputs);
  const Variant variant = variant_of(request, y == nullptr ? 0 : x.e);
  const Source source = source_of("attention", {kText}, variant);
  return kernel_launch(*request.stream, source, source.name,
                       grid_of(variant, std::int64_t{x.t} * x.r, x), y, log_sum, q, k, v,
                       are_aligned(request, kAttentionOperands, variant), x);
}

}  // namespace meshwork::cuda::attention
