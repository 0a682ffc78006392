// attention:         y = sum over s of p v, p the softmax of scale q k over the keys that count
// attention_log_sum: y = log of the sum over s of exp(scale q k)
//
// Keys are taken tile by tile; sums so far are scaled whenever a greater score appears (Milakov and
// Gimelshein, 2018; FlashAttention, Dao et al., 2022). Tiles do not depend on the number of
// threads.
#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "backend/cpu/attention_product.h"
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

/// What a thread has for itself; sums of values and the scratch memory of products follow.
template <class T>
struct Room {
  Sums sums;
  float scores[kQueries * kKeys];
  float draws[kQueries * kKeys];
  T weights[std::is_same_v<T, float> ? 1 : kQueries * kKeys];  ///< rounded
};

/// The operands of a launch, of T, and what it computes of them.
template <class T>
struct Forward {
  using Tile = AttentionTiles::Tile;
  using Head = AttentionTiles::Head;

  TensorView q, k, v;
  std::optional<TensorView> y, log_sum;
  AttentionTiles x;
  TileProduct<T> dots, sum_values;
  RoomOfThread rooms;

  explicit Forward(const SiblingArgs& args)
      : q(args.inputs[0]),
        k(args.inputs[1]),
        v(args.inputs[2]),
        y(args.outputs[0]),
        log_sum(args.outputs[1]),
        x(args.inputs, args.attrs, kAttentionOperands, TileProduct<T>::kGrain),
        dots(TileSum::kDots, x, x.features(),
             {AttentionTiles::key_lines<T>(k, {}, 0).stride,
              AttentionTiles::query_lines<T>(q, {}, 0).stride},
             static_cast<float>(x.options().scale)),
        sum_values(TileSum::kOverKeys, x, width(), {AttentionTiles::key_lines<T>(v, {}, 0).stride}),
        rooms(args.workspace,
              scratch_at() + std::max(dots.scratch_bytes(), sum_values.scratch_bytes())) {}

  void operator()() const {
    const std::int64_t blocks = ceil_divide(x.queries(), kQueries);
    const std::int64_t heads = x.groups() * x.members();
    for_each_task(x.samples() * heads * blocks, x.work(), [&](std::int64_t task) {
      const std::int64_t begin = task % blocks * kQueries, head = task / blocks % heads;
      compute({task / blocks / heads, head / x.members(), head % x.members()},
              {begin, std::min(begin + kQueries, x.queries())});
    });
  }

  void compute(const Head& head, Places queries) const {
    const SerialScope scope;  // oneDNN would share out the products of a single task
    Room<T>& room = *reinterpret_cast<Room<T>*>(rooms.own());
    room.sums.clear();
    if (y) sums_of(head, queries).clear(queries.count(), width());
    x.for_each_tile(head, queries, {0, x.keys()}, [&](const Tile& tile) {
      compute_scores(tile, room);
      vectorized<WeightsLoop>()(room.scores, &room.sums, queries.count(), tile.keys.count());
      if (y) add_values(tile, room);
    });
    if (y) divide(head, queries, room);
    if (log_sum) write_log_sums(head, queries, room.sums);
  }

  void compute_scores(const Tile& tile, Room<T>& room) const {
    dots(tile, AttentionTiles::query_lines<T>(q, tile.head, tile.queries.begin).data,
         AttentionTiles::key_lines<T>(k, tile.head, tile.keys.begin).data,
         {room.scores, tile.keys.count()}, scratch());
    x.hide(tile, room.scores);
  }

  /// The values of a tile to what is there of those before.
  void add_values(const Tile& tile, Room<T>& room) const {
    const Lines<float> to = sums_of(tile.head, tile.queries);
    x.draw(tile, room.draws);
    x.drop(tile, room.draws, room.scores);
    if (tile.keys.begin > 0) {
      vectorized<ScaleLoop>()(to.data, to.stride, room.sums.rescale, tile.queries.count(), width());
    }
    const std::int64_t weights = tile.queries.count() * tile.keys.count();
    sum_values(tile, as_operand(room.scores, weights, room.weights),
               AttentionTiles::key_lines<T>(v, tile.head, tile.keys.begin).data, to, scratch());
  }

  void divide(const Head& head, Places queries, Room<T>& room) const {
    const Lines<float> sums = sums_of(head, queries);
    float* const factors = room.sums.rescale;
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      factors[i] = room.sums.sum[i] == 0 ? 0.0F : 1 / room.sums.sum[i];
    }
    vectorized<ScaleLoop>()(sums.data, sums.stride, factors, queries.count(), width());
    settle(sums, 1, AttentionTiles::query_lines<T>(*y, head, queries.begin), queries.count(),
           width());
  }

  void write_log_sums(const Head& head, Places queries, const Sums& sums) const {
    const auto to = x.log_sum_lines(*log_sum, head, queries.begin);
    for (std::int64_t i = 0; i < queries.count(); ++i) {
      to.data[i * to.stride] =
          sums.sum[i] == 0 ? kNoKeys : sums.max[i] + elementwise::Log::apply(sums.sum[i]);
    }
  }

  /// Where the values of some queries are added up.
  Lines<float> sums_of(const Head& head, Places queries) const {
    return sum_lines(AttentionTiles::query_lines<T>(*y, head, queries.begin),
                     reinterpret_cast<float*>(rooms.own() + kSumsAt), width());
  }

  static constexpr std::int64_t kSumsAt = whole_lines(sizeof(Room<T>));
  std::int64_t scratch_at() const {
    return kSumsAt + whole_lines(kQueries * width() * static_cast<std::int64_t>(sizeof(float)));
  }
  std::byte* scratch() const { return rooms.own() + scratch_at(); }
  std::int64_t width() const { return v.type.shape[3]; }
};

}  // namespace

std::int64_t attention_forward_workspace(const SiblingArgs& args) {
  return workspace_by_dtype<Forward>(args);
}

Launch attention_forward(const SiblingArgs& args) { return bind_by_dtype<Forward>(args); }

}  // namespace meshwork::cpu
