// attention:         y = sum over s of p v, p the softmax of scale q k over the keys that count
// attention_log_sum: y = log of the sum over s of exp(scale q k)
//
// Keys are taken tile by tile; sums so far are scaled whenever a greater score appears (Milakov and
// Gimelshein, 2018; FlashAttention, Dao et al., 2022). Tiles do not depend on the number of
// threads.
#include <algorithm>
#include <limits>

#include "backend/cpu/attention_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/softmax_lines.h"
#include "elementwise/arithmetic.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kQueries = 64;
constexpr std::int64_t kKeys = 256;
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
  float draws[kKeys];
};

/// The weights, not yet divided by their sum, of the queries in tiles of keys: body(tile) for each.
template <class Body>
void for_each_tile(const AttentionTiles& x, const AttentionTiles::Head& head, Places queries,
                   Room& room, const Body& body) {
  room.sums.clear();
  const Places keys = x.keys_of(head, queries);
  for (std::int64_t begin = keys.begin; begin < keys.end; begin += kKeys) {
    const AttentionTiles::Tile tile{head, queries, {begin, std::min(begin + kKeys, keys.end)}};
    x.scores(tile, room.scores);
    vectorized<WeightsLoop>()(room.scores, &room.sums, queries.count(), tile.keys.count());
    body(tile);
  }
}

void attend(const AttentionTiles& x, const AttentionTiles::Head& head, Places queries,
            const TensorView& values, const TensorView& output, Room& room) {
  const std::int64_t width = values.type.shape[3];
  const Lines y = AttentionTiles::query_lines(output, head, queries.begin);
  const auto scale = vectorized<ScaleLoop>();
  bool is_first = true;
  for_each_tile(x, head, queries, room, [&](const AttentionTiles::Tile& tile) {
    x.drop(tile, room.scores, room.draws);
    if (!is_first) scale(y.data, y.stride, room.sums.rescale, queries.count(), width);
    AttentionTiles::sum_keys(tile, width, room.scores,
                             AttentionTiles::key_lines(values, head, tile.keys.begin), 1,
                             is_first ? 0.0F : 1.0F, y);
    is_first = false;
  });
  if (is_first) {
    y.clear(queries.count(), width);
    return;
  }
  float* const factors = room.sums.rescale;
  for (std::int64_t i = 0; i < queries.count(); ++i) {
    factors[i] = room.sums.sum[i] == 0 ? 0.0F : 1 / room.sums.sum[i];
  }
  scale(y.data, y.stride, factors, queries.count(), width);
}

}  // namespace

std::int64_t attention_workspace(const KernelArgs& /*args*/) { return rooms_bytes<Room>(); }

Launch attention(const KernelArgs& args) {
  return [x = AttentionTiles(args, kAttentionOperands), values = args.inputs[2], y = args.output,
          workspace = args.workspace] {
    x.for_each_block(kQueries, [&](const AttentionTiles::Head& head, Places queries) {
      attend(x, head, queries, values, y, room_in<Room>(workspace));
    });
  };
}

Launch attention_log_sum(const KernelArgs& args) {
  return [x = AttentionTiles(args, kAttentionLogSumOperands), y = args.output,
          workspace = args.workspace] {
    x.for_each_block(kQueries, [&](const AttentionTiles::Head& head, Places queries) {
      Room& room = room_in<Room>(workspace);
      for_each_tile(x, head, queries, room, [](const auto&) {});
      for (std::int64_t i = 0; i < queries.count(); ++i) {
        const float sum = room.sums.sum[i];
        *AttentionTiles::query_lines(y, head, queries.begin + i).data =
            sum == 0 ? 0.0F : room.sums.max[i] + elementwise::Log::apply(sum);
      }
    });
  };
}

}  // namespace meshwork::cpu
