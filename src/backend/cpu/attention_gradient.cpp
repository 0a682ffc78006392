// With weights p = exp(scale q k - log_sum), m what dropout makes of each (0 or 1 / (1 - rate)),
// and ds = p (m dy v - delta):
//
// attention_query_gradient: dq = scale times the sum over s of ds k
// attention_key_gradient:   dk = scale times the sum over t and r of ds q
// attention_value_gradient: dv = sum over t and r of p m dy
#include <algorithm>
#include <optional>
#include <type_traits>

#include "backend/cpu/attention_product.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/siblings.h"
#include "backend/cpu/simd.h"
#include "elementwise/exponential.h"

namespace meshwork::cpu {
namespace {

using Tile = AttentionTiles::Tile;
using Head = AttentionTiles::Head;

/// scores -> exp(score - log_sum), line by line.
struct WeightsLoop {
  [[gnu::always_inline]] static void run(float* scores, const float* log_sums, std::int64_t stride,
                                         std::int64_t queries, std::int64_t keys) {
    for (std::int64_t i = 0; i < queries; ++i) {
      float* line = scores + i * keys;
      const float log_sum = log_sums[i * stride];
#pragma omp simd
      for (std::int64_t j = 0; j < keys; ++j) line[j] = elementwise::Exp::apply(line[j] - log_sum);
    }
  }
};

/// ds = p (dp - delta), line by line, in the place of dp.
struct ScoresLoop {
  [[gnu::always_inline]] static void run(const float* weights, float* gradients,
                                         const float* deltas, std::int64_t stride,
                                         std::int64_t queries, std::int64_t keys) {
    for (std::int64_t i = 0; i < queries; ++i) {
      const float* line = weights + i * keys;
      float* gradient = gradients + i * keys;
      const float delta = deltas[i * stride];
#pragma omp simd
      for (std::int64_t j = 0; j < keys; ++j) gradient[j] = line[j] * (gradient[j] - delta);
    }
  }
};

/// What a thread has for itself; sums of gradients and the scratch memory of products follow.
template <class T>
struct Room {
  static constexpr std::int64_t kSize = AttentionTiles::kQueries * AttentionTiles::kKeys;

  float weights[kSize];
  float gradients[kSize];
  float draws[kSize];
  float deltas[AttentionTiles::kQueries];
  T operand[std::is_same_v<T, float> ? 1 : kSize];  ///< one of the above, rounded
};

/// Of which operands gradients are computed.
struct Wanted {
  bool queries, keys;
};

/// The operands of a launch, of T, and what it computes of them.
template <class T>
struct Gradients {
  TensorView q, k, v, dy, log_sum, delta;
  std::optional<TensorView> dq, dk, dv;
  AttentionTiles x;
  TileProduct<T> scores, weight_gradients, sum_dq, sum_dk, sum_dv;
  RoomOfThread rooms;

  explicit Gradients(const SiblingArgs& args)
      : q(args.inputs[0]),
        k(args.inputs[1]),
        v(args.inputs[2]),
        dy(args.inputs[3]),
        log_sum(args.inputs[kAttentionLogSumOperand]),
        delta(args.inputs[kAttentionDeltaOperand]),
        dq(args.outputs[0]),
        dk(args.outputs[1]),
        dv(args.outputs[2]),
        x(args.inputs, args.attrs, kAttentionGradientOperands, TileProduct<T>::kGrain),
        scores(TileSum::kDots, x, x.features(), {key_stride(k), query_stride(q)}, scale()),
        weight_gradients(TileSum::kDots, x, width(), {key_stride(v), query_stride(dy)}),
        sum_dq(TileSum::kOverKeys, x, x.features(), {key_stride(k)}),
        sum_dk(TileSum::kOverQueries, x, x.features(), {query_stride(q)}),
        sum_dv(TileSum::kOverQueries, x, width(), {query_stride(dy)}),
        rooms(args.workspace, scratch_at() + scratch_bytes()) {}

  void operator()() const {
    const std::int64_t heads = x.samples() * x.groups();
    const Places queries{0, x.queries()}, keys{0, x.keys()};
    const Wanted wanted{dq.has_value(), dk || dv};
    if (wanted.queries && wanted.keys && heads >= omp_get_max_threads()) {
      for_each_task(heads, x.work(),
                    [&](std::int64_t head) { compute(head, queries, keys, wanted); });
      return;
    }
    // By blocks there is enough to do for more threads, but weights are computed twice.
    if (wanted.queries) {
      for_each_block(heads, queries, AttentionTiles::kQueries,
                     [&](std::int64_t head, Places block) {
                       compute(head, block, keys, {true, false});
                     });
    }
    if (wanted.keys) {
      for_each_block(heads, keys, AttentionTiles::kKeys, [&](std::int64_t head, Places block) {
        compute(head, queries, block, {false, true});
      });
    }
  }

  template <class Body>
  void for_each_block(std::int64_t heads, Places all, std::int64_t size, const Body& body) const {
    const std::int64_t blocks = ceil_divide(all.end, size);
    for_each_task(heads * blocks, x.work(), [&](std::int64_t task) {
      const std::int64_t begin = task % blocks * size;
      body(task / blocks, {begin, std::min(begin + size, all.end)});
    });
  }

  /// Of some queries and keys of a head of keys, tile by tile, always in the same order.
  void compute(std::int64_t group, Places queries, Places keys, Wanted wanted) const {
    const SerialScope scope;  // oneDNN would share out the products of a single task
    Head head{group / x.groups(), group % x.groups(), 0};
    const Sums sums{*this, queries, keys, wanted};
    if (sums.wants_dk()) sums.dk(head, keys.begin).clear(keys.count(), x.features());
    if (sums.wants_dv()) sums.dv(head, keys.begin).clear(keys.count(), width());
    for (; head.member < x.members(); ++head.member) {
      if (wanted.queries) sums.dq(head, queries.begin).clear(queries.count(), x.features());
      x.for_each_tile(head, queries, keys, [&](const Tile& tile) { add(tile, sums); });
      if (!wanted.queries) continue;
      settle(sums.dq(head, queries.begin), scale(),
             AttentionTiles::query_lines<T>(*dq, head, queries.begin), queries.count(),
             x.features());
    }
    if (sums.wants_dk()) {
      settle(sums.dk(head, keys.begin), scale(),
             AttentionTiles::key_lines<T>(*dk, head, keys.begin), keys.count(), x.features());
    }
    if (sums.wants_dv()) {
      settle(sums.dv(head, keys.begin), 1, AttentionTiles::key_lines<T>(*dv, head, keys.begin),
             keys.count(), width());
    }
  }

  /// Where the gradients of some queries and keys are added up.
  struct Sums {
    const Gradients& of;
    Places queries, keys;
    Wanted wanted;

    bool wants_dk() const { return wanted.keys && of.dk; }
    bool wants_dv() const { return wanted.keys && of.dv; }

    /// Lines from a place on.
    Lines<float> dq(const Head& head, std::int64_t first) const {
      return sum_lines(AttentionTiles::query_lines<T>(*of.dq, head, first),
                       of.room_at(of.dq_at(), (first - queries.begin) * of.x.features()),
                       of.x.features());
    }
    Lines<float> dk(const Head& head, std::int64_t first) const {
      return sum_lines(AttentionTiles::key_lines<T>(*of.dk, head, first),
                       of.room_at(of.dk_at(), (first - keys.begin) * of.x.features()),
                       of.x.features());
    }
    Lines<float> dv(const Head& head, std::int64_t first) const {
      return sum_lines(AttentionTiles::key_lines<T>(*of.dv, head, first),
                       of.room_at(of.dv_at(), (first - keys.begin) * of.width()), of.width());
    }
  };

  /// What a tile gives.
  void add(const Tile& tile, const Sums& sums) const {
    Room<T>& room = *reinterpret_cast<Room<T>*>(rooms.own());
    const std::int64_t count = tile.queries.count() * tile.keys.count();
    compute_weights(tile, room);
    if (sums.wanted.queries || sums.wants_dk()) {
      compute_scores(tile, room);
      const T* gradients = as_operand(room.gradients, count, room.operand);
      if (sums.wanted.queries) {
        sum_dq(tile, gradients, keys_at(k, tile), sums.dq(tile.head, tile.queries.begin),
               scratch());
      }
      if (sums.wants_dk()) {
        sum_dk(tile, gradients, queries_at(q, tile), sums.dk(tile.head, tile.keys.begin),
               scratch());
      }
    }
    if (sums.wants_dv()) {
      x.drop(tile, room.draws, room.weights);
      sum_dv(tile, as_operand(room.weights, count, room.operand), queries_at(dy, tile),
             sums.dv(tile.head, tile.keys.begin), scratch());
    }
  }

  /// p to room.weights.
  void compute_weights(const Tile& tile, Room<T>& room) const {
    scores(tile, queries_at(q, tile), keys_at(k, tile), {room.weights, tile.keys.count()},
           scratch());
    x.hide(tile, room.weights);
    x.draw(tile, room.draws);
    const auto logs = x.log_sum_lines(log_sum, tile.head, tile.queries.begin);
    vectorized<WeightsLoop>()(room.weights, logs.data, logs.stride, tile.queries.count(),
                              tile.keys.count());
  }

  /// ds to room.gradients.
  void compute_scores(const Tile& tile, Room<T>& room) const {
    weight_gradients(tile, queries_at(dy, tile), keys_at(v, tile),
                     {room.gradients, tile.keys.count()}, scratch());
    x.drop(tile, room.draws, room.gradients);
    const auto deltas = deltas_of(tile, room);
    vectorized<ScoresLoop>()(room.weights, room.gradients, deltas.data, deltas.stride,
                             tile.queries.count(), tile.keys.count());
  }

  float scale() const { return static_cast<float>(x.options().scale); }
  std::int64_t width() const { return v.type.shape[3]; }

  static std::int64_t query_stride(const TensorView& view) {
    return AttentionTiles::query_lines<T>(view, {}, 0).stride;
  }
  static std::int64_t key_stride(const TensorView& view) {
    return AttentionTiles::key_lines<T>(view, {}, 0).stride;
  }
  static const T* queries_at(const TensorView& view, const Tile& tile) {
    return AttentionTiles::query_lines<T>(view, tile.head, tile.queries.begin).data;
  }
  static const T* keys_at(const TensorView& view, const Tile& tile) {
    return AttentionTiles::key_lines<T>(view, tile.head, tile.keys.begin).data;
  }
  /// In memory, or of the result.
  Lines<float> deltas_of(const Tile& tile, Room<T>& room) const {
    if (!x.options().with_result) {
      return AttentionTiles::query_lines<float>(delta, tile.head, tile.queries.begin);
    }
    const T *line = queries_at(dy, tile), *result = queries_at(delta, tile);
    for (std::int64_t i = 0; i < tile.queries.count(); ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < width(); ++j) {
        sum += static_cast<float>(line[j]) * static_cast<float>(result[j]);
      }
      room.deltas[i] = sum;
      line += query_stride(dy);
      result += query_stride(delta);
    }
    return {room.deltas, 1};
  }

  // Where sums stand in the room of a thread, if they do, and what follows them.
  static std::int64_t after(std::int64_t begin, std::int64_t lines, std::int64_t width) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
    return begin + (std::is_same_v<T, float> ? 0 : whole_lines(lines * width * kBytes));
  }
  std::int64_t dq_at() const { return whole_lines(sizeof(Room<T>)); }
  std::int64_t dk_at() const { return after(dq_at(), x.queries(), x.features()); }
  std::int64_t dv_at() const { return after(dk_at(), x.keys(), x.features()); }
  std::int64_t scratch_at() const { return after(dv_at(), x.keys(), width()); }
  std::int64_t scratch_bytes() const {
    std::int64_t most = 0;
    for (const auto* product : {&scores, &weight_gradients, &sum_dq, &sum_dk, &sum_dv}) {
      most = std::max(most, product->scratch_bytes());
    }
    return most;
  }
  float* room_at(std::int64_t begin, std::int64_t index) const {
    return reinterpret_cast<float*>(rooms.own() + begin) + index;
  }
  std::byte* scratch() const { return rooms.own() + scratch_at(); }
};

}  // namespace

std::int64_t attention_gradients_workspace(const SiblingArgs& args) {
  return workspace_by_dtype<Gradients>(args);
}

Launch attention_gradients(const SiblingArgs& args) { return bind_by_dtype<Gradients>(args); }

}  // namespace meshwork::cpu
