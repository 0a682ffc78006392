// With weights p = exp(scale q k - log_sum), m what dropout makes of each, and
// ds = p (m dy v - delta):
//
// attention_key_gradient:   dk = scale times the sum over t and r of ds q
// attention_value_gradient: dv = sum over t and r of p m dy
//
// A block has a tile's rows of keys of a head, and takes rows of queries tile by tile: keys are the
// rows of its tiles, queries their columns.
#include <algorithm>

#include "backend/cuda/attention/gradients.h"
#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/attention/variant.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr std::string_view kText = R"cuda(
// A multiprocessor has room for so many, at least: so many registers each may have.
#define BLOCKS (THREADS > 128 || WIDTH > 128 ? 1 : 2)

// Sums, which are there only if they are asked for.
struct Gradients {
#if WANTS_KEYS
  Sums keys;
#endif
#if WANTS_VALUES
  Sums values;
#endif
};

// What belongs to a row of queries; 0 behind the last.
DEVICE float of_query(const Lines<const float>& numbers, int32 m) {
  return m < numbers.count ? *line(numbers, m) : 0.0f;
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) attention_key_gradients,
       T* dk, T* dv, const T* q, const T* k, const T* v, const T* dy, const float* log_sum,
       const float* delta, int32 is_aligned, Operands x) {
  MAKE_ROOM(room);
  const int32 columns = max(WANTS_KEYS ? x.d : 0, WANTS_VALUES ? x.e : 0);
  const Task task = task_of(x, x.s, columns, 1, false);
  const Head& head = task.head;
  const Lines<const T> queries = query_lines(x, head, q, x.d), dys = query_lines(x, head, dy, x.e);
  const Lines<const T> keys = key_lines(x, head, k, x.d), values = key_lines(x, head, v, x.e);
  const Lines<const float> log_sums = log_sum_lines(x, head, log_sum);
  const Lines<const float> deltas = query_lines(x, head, delta, 1);
  Gradients sums;
#if WANTS_KEYS
  clear(sums.keys.at);
#endif
#if WANTS_VALUES
  clear(sums.values.at);
#endif
  const Fixed fixed_keys = fixed(keys, task.first, is_aligned, room);
#if WANTS_KEYS
  const Fixed fixed_values = fixed(values, task.first, is_aligned, room);
#endif
  const Range range = queries_of(x, head, task.first);
  for (int32 m = range.begin; m < range.end; m += TILE_COLUMNS) {
    const uint32 seen = visible<false>(x, head, task.first, m);
    if (!__syncthreads_or(seen != 0)) continue;
    const Tile of_queries = tile(queries, m, 0, is_aligned, room);
    const Tile of_dys = tile(dys, m, 1, is_aligned, room);
    all_there();
    Scores weights;
    dots(weights, fixed_keys, of_queries, is_aligned, room);
    const uint32 keeps = kept<false>(x, head, task.first, m);
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      const float log = LOG2_E * of_query(log_sums, m + column_of(j));
#pragma unroll
      for (int32 i = 0; i < ROWS; ++i) {
        weights.at[i][j] = weight(weights.at[i][j], x.scale, log);
      }
    }
    select(weights, seen, 0.0f);
#if WANTS_VALUES
    Scores kept_weights = weights;
    drop(kept_weights, x, keeps);
    add_products(sums.values, kept_weights, of_dys, task.column, is_aligned, room);
#endif
#if WANTS_KEYS
    Scores gradients;
    dots(gradients, fixed_values, of_dys, is_aligned, room);
    drop(gradients, x, keeps);
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      const float of_column = of_query(deltas, m + column_of(j));
#pragma unroll
      for (int32 i = 0; i < ROWS; ++i) {
        gradients.at[i][j] = weights.at[i][j] * (gradients.at[i][j] - of_column);
      }
    }
    select(gradients, seen, 0.0f);
    add_products(sums.keys, gradients, of_queries, task.column, is_aligned, room);
#endif
  }
  float factors[ROWS];
#if WANTS_KEYS
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) factors[i] = x.scale;
  write(sums.keys, factors, key_lines(x, head, dk, x.d), task.first, task.column);
#endif
#if WANTS_VALUES
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) factors[i] = 1.0f;
  write(sums.values, factors, key_lines(x, head, dv, x.e), task.first, task.column);
#endif
}
)cuda";

Launch launch_of(const Request& request, std::byte* dk, std::byte* dv) {
  const Operands x = operands_of(request, kAttentionGradientOperands);
  const auto [q, k, v, dy, log_sum, delta] = addresses<kAttentionGradientOperands>(request.inputs);
  const Variant variant =
      variant_of(request, std::max(dk == nullptr ? 0 : x.d, dv == nullptr ? 0 : x.e));
  Source source = source_of("attention_key_gradients", {kGradientText, kText}, variant);
  source.defines += define("WANTS_KEYS", dk == nullptr ? 0 : 1);
  source.defines += define("WANTS_VALUES", dv == nullptr ? 0 : 1);
  return kernel_launch(*request.stream, source, source.name, grid_of(variant, x.s, x), dk, dv, q, k,
                       v, dy, log_sum, delta, are_aligned(request, 4, variant), x);
}

/// Whether the sums of both gradients fit into registers, beside what else there is.
bool fit_together(const Request& request) {
  const auto columns = [&](std::size_t operand) {
    return request.inputs[operand].type.shape.back();
  };
  const Variant variant = variant_of(request, std::max(columns(0), columns(2)));
  return variant.width <= (variant.on_tensor_cores ? 64 : 128);
}

}  // namespace

Launch key_gradients(const Request& request) {
  const auto [dk, dv] = addresses<2>(request.outputs);
  if (dk == nullptr || dv == nullptr || fit_together(request)) return launch_of(request, dk, dv);
  return [keys = launch_of(request, dk, nullptr), values = launch_of(request, nullptr, dv)] {
    keys();
    values();
  };
}

}  // namespace meshwork::cuda::attention
