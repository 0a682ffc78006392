// attention_query_gradient: dq = scale times the sum over s of ds k, with weights
// p = exp(scale q k - log_sum), m what dropout makes of each, and ds = p (m dy v - delta)
//
// A block has a tile's rows of queries of a head, and takes keys tile by tile.
#include "backend/cuda/attention/gradients.h"
#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/attention/variant.h"
#include "graph/attention_options.h"

namespace meshwork::cuda::attention {
namespace {

constexpr std::string_view kText = R"cuda(
// A multiprocessor has room for so many, at least: so many registers each may have.
#define BLOCKS (THREADS > 128 ? 1 : WIDTH <= 64 ? 3 : WIDTH <= 128 ? 2 : 1)

// log_sums in powers of 2, and deltas, of the rows of a thread.
struct Known {
  float log_sums[ROWS], deltas[ROWS];
};

DEVICE Known known_of(const Lines<const float>& log_sums, const Lines<const float>& deltas,
                      int32 first) {
  Known known;
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    const int32 m = first + row_of(i);
    known.log_sums[i] = m < log_sums.count ? LOG2_E * *line(log_sums, m) : 0.0f;
    known.deltas[i] = m < deltas.count ? *line(deltas, m) : 0.0f;
  }
  return known;
}

KERNEL(__launch_bounds__(THREADS, BLOCKS) attention_query_gradient,
       T* dq, const T* q, const T* k, const T* v, const T* dy, const float* log_sum,
       const float* delta, int32 is_aligned, Operands x) {
  MAKE_ROOM(room);
  const Task task = task_of(x, x.t * x.r, x.d, 1, true);
  const Head& head = task.head;
  const Lines<const T> queries = query_lines(x, head, q, x.d), dys = query_lines(x, head, dy, x.e);
  const Lines<const T> keys = key_lines(x, head, k, x.d), values = key_lines(x, head, v, x.e);
  const Known known = known_of(log_sum_lines(x, head, log_sum), query_lines(x, head, delta, 1),
                               task.first);
  Sums sums;
  clear(sums.at);
  const Fixed fixed_queries = fixed(queries, task.first, is_aligned, room);
  const Fixed fixed_dys = fixed(dys, task.first, is_aligned, room);
  const Range range = keys_of(x, head, task.first);
  for (int32 s = range.begin; s < range.end; s += TILE_COLUMNS) {
    const uint32 seen = visible<true>(x, head, task.first, s);
    if (!__syncthreads_or(seen != 0)) continue;
    const Tile of_keys = tile(keys, s, 0, is_aligned, room);
    const Tile of_values = tile(values, s, 1, is_aligned, room);
    all_there();
    Scores weights, gradients;
    dots(weights, fixed_queries, of_keys, is_aligned, room);
    dots(gradients, fixed_dys, of_values, is_aligned, room);
    drop(gradients, x, kept<true>(x, head, task.first, s));
#pragma unroll
    for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int32 j = 0; j < COLUMNS; ++j) {
        const float p = weight(weights.at[i][j], x.scale, known.log_sums[i]);
        gradients.at[i][j] = p * (gradients.at[i][j] - known.deltas[i]);
      }
    }
    select(gradients, seen, 0.0f);
    add_products(sums, gradients, of_keys, task.column, is_aligned, room);
  }
  float factors[ROWS];
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) factors[i] = x.scale;
  write(sums, factors, query_lines(x, head, dq, x.d), task.first, task.column);
}
)cuda";

}  // namespace

Launch query_gradient(const Request& request) {
  const Operands x = operands_of(request, kAttentionGradientOperands);
  const auto [q, k, v, dy, log_sum, delta] = addresses<kAttentionGradientOperands>(request.inputs);
  const Variant variant = variant_of(request, x.d);
  const Source source = source_of("attention_query_gradient", {kGradientText, kText}, variant);
  return kernel_launch(*request.stream, source, source.name,
                       grid_of(variant, std::int64_t{x.t} * x.r, x), request.outputs[0], q, k, v,
                       dy, log_sum, delta, are_aligned(request, 4, variant), x);
}

}  // namespace meshwork::cuda::attention
