// attention:         y = sum over s of p v, p the softmax of scale q k over the keys that count
// attention_log_sum: y = log of the sum over s of exp(scale q k)
//
// Keys are taken tile by tile; sums so far are scaled whenever a greater score appears (Milakov and
// Gimelshein, 2018; FlashAttention, Dao et al., 2022). Tiles do not depend on the number of
// threads.
#include <algorithm>
#include <limits>
#include <optional>

#include "backend/cpu/attention_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/siblings.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/softmax_lines.h"
#include "elementwise/arithmetic.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kQueries = AttentionTiles::kQueries;
constexpr std::int64_t kKeys = AttentionTiles::kKeys;
constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Of the queries of a tile, over the keys before: the greatest score, the sum of exp(score - it),
/// and by what that and the sums of values are to be scaled for the tile at hand.
struct Sums {
  float max[kQueries];
  float sum[kQueries];
  float rescale[kQueries];

  void clear() {
    std::fill_n(max, kQueries, kNone);
    std::fill_n(sum, kQueries, 0.0F);
  }
};

/// scores -> exp(score - greatest so far), line by line.
struct WeightsLoop {
  [[gnu::always_inline]] static void run(float* scores, Sums* sums, std::int64_t queries,
                                         std::int64_t keys) {
    for (std::int64_t i = 0; i < queries; ++i) {
      float* line = scores + i * keys;
      const float before = sums->max[i];
      const float max =
          elementwise::Maximum::apply(before, fold_lanes<elementwise::Maximum>(line, keys));
      const float shift = max == kNone ? 0.0F : max;  // a line without a key
#pragma omp simd
      for (std::int64_t j = 0; j < keys; ++j) line[j] = elementwise::Exp::apply(line[j] - shift);
      sums->max[i] = max;
      sums->rescale[i] = elementwise::Exp::apply(before - shift);
      sums->sum[i] = sums->sum[i] * sums->rescale[i] + fold_lanes<elementwise::Add>(line, keys);
    }
  }
};

/// Scales each line of y by its factor.
struct ScaleLoop {
  [[gnu::always_inline]] static void run(float* y, std::int64_t stride, const float* factors,
                                         std::int64_t lines, std::int64_t width) {
    for (std::int64_t i = 0; i < lines; ++i) {
      float* line = y + i * stride;
      const float factor = factors[i];
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) line[j] *= factor;
    }
  }
};

/// What a thread has for itself.
struct Room {
  Sums sums;
  float scores[kQueries * kKeys];
  float draws[kQueries * kKeys];
};

/// The operands of a launch, and what it computes of them.
struct Forward {
  AttentionTiles x;
  TensorView values;
  std::optional<TensorView> y, log_sum;
  std::byte* workspace;

  explicit Forward(const SiblingArgs& args)
      : x(args.inputs, args.attrs, kAttentionOperands),
        values(args.inputs[2]),
        y(args.outputs[0]),
        log_sum(args.outputs[1]),
        workspace(args.workspace) {}

  void operator()() const {
    const std::int64_t blocks = ceil_divide(x.queries(), kQueries);
    const std::int64_t heads = x.groups() * x.members();
    for_each_task(x.samples() * heads * blocks, x.work(), [&](std::int64_t task) {
      const std::int64_t begin = task % blocks * kQueries, head = task / blocks % heads;
      compute({task / blocks / heads, head / x.members(), head % x.members()},
              {begin, std::min(begin + kQueries, x.queries())});
    });
  }

  void compute(const AttentionTiles::Head& head, Places queries) const {
    Room& room = room_in<Room>(workspace);
    room.sums.clear();
    if (y) query_lines(head, queries).clear(queries.count(), width());
    x.for_each_tile(head, queries, {0, x.keys()}, [&](const AttentionTiles::Tile& tile) {
      x.scores(tile, room.scores);
      vectorized<WeightsLoop>()(room.scores, &room.sums, queries.count(), tile.keys.count());
      if (y) add_values(tile, room);
    });
    if (y) divide(head, queries, room);
    if (log_sum) write_log_sums(head, queries, room.sums);
  }

  /// The values of a tile to what is there of those before.
  void add_values(const AttentionTiles::Tile& tile, Room& room) const {
    const Lines to = query_lines(tile.head, tile.queries);
    x.draw(tile, room.draws);
    x.drop(tile, room.draws, room.scores);
    if (tile.keys.begin > 0) {
      vectorized<ScaleLoop>()(to.data, to.stride, room.sums.rescale, tile.queries.count(), width());
    }
    AttentionTiles::sum_keys(tile, width(), room.scores,
                             AttentionTiles::key_lines(values, tile.head, tile.keys.begin), 1, 1,
                             to);
  }

  void divide(const AttentionTiles::Head& head, Places queries, Room& room) const {
    const Lines to = query_lines(head, queries);
    float* const factors = room.sums.rescale;
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      factors[i] = room.sums.sum[i] == 0 ? 0.0F : 1 / room.sums.sum[i];
    }
    vectorized<ScaleLoop>()(to.data, to.stride, factors, queries.count(), width());
  }

  void write_log_sums(const AttentionTiles::Head& head, Places queries, const Sums& sums) const {
    const Lines to = AttentionTiles::query_lines(*log_sum, head, queries.begin);
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      to.data[i * to.stride] =
          sums.sum[i] == 0 ? 0.0F : sums.max[i] + elementwise::Log::apply(sums.sum[i]);
    }
  }

  Lines query_lines(const AttentionTiles::Head& head, Places queries) const {
    return AttentionTiles::query_lines(*y, head, queries.begin);
  }
  std::int64_t width() const { return values.type.shape[3]; }
};

}  // namespace

std::int64_t attention_forward_workspace(const SiblingArgs& /*args*/) {
  return rooms_bytes<Room>();
}

Launch attention_forward(const SiblingArgs& args) { return Forward(args); }

}  // namespace meshwork::cpu
