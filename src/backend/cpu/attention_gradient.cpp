// With weights p = exp(scale q k - log_sum), m what dropout makes of each (0 or 1 / (1 - rate)),
// and ds = p (m dy v - delta):
//
// attention_query_gradient: dq = scale times the sum over s of ds k
// attention_key_gradient:   dk = scale times the sum over t and r of ds q
// attention_value_gradient: dv = sum over t and r of p m dy
#include <algorithm>
#include <optional>

#include "backend/cpu/attention_tiles.h"
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

/// What a thread has for itself.
struct Room {
  static constexpr std::int64_t kSize = AttentionTiles::kQueries * AttentionTiles::kKeys;

  float weights[kSize];
  float gradients[kSize];
  float draws[kSize];
};

/// The operands of a launch, and what it computes of them.
struct Gradients {
  AttentionTiles x;
  TensorView q, k, v, dy, log_sum, delta;
  std::optional<TensorView> dq, dk, dv;
  std::byte* workspace;

  explicit Gradients(const SiblingArgs& args)
      : x(args.inputs, args.attrs, kAttentionGradientOperands),
        q(args.inputs[0]),
        k(args.inputs[1]),
        v(args.inputs[2]),
        dy(args.inputs[3]),
        log_sum(args.inputs[4]),
        delta(args.inputs[5]),
        dq(args.outputs[0]),
        dk(args.outputs[1]),
        dv(args.outputs[2]),
        workspace(args.workspace) {}

  /// Of which operands gradients are computed.
  struct Wanted {
    bool queries, keys;
  };

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
    Head head{group / x.groups(), group % x.groups(), 0};
    for (const auto& gradient : {dk, dv}) {
      if (!wanted.keys || !gradient) continue;
      key_lines(*gradient, head, keys.begin).clear(keys.count(), gradient->type.shape[3]);
    }
    for (; head.member < x.members(); ++head.member) {
      if (wanted.queries) {
        query_lines(*dq, head, queries.begin).clear(queries.count(), x.features());
      }
      x.for_each_tile(head, queries, keys, [&](const Tile& tile) { add(tile, wanted); });
    }
  }

  /// What a tile gives.
  void add(const Tile& tile, Wanted wanted) const {
    Room& room = room_in<Room>(workspace);
    compute_weights(tile, room);
    if (wanted.queries || dk) {
      compute_scores(tile, room);
      if (wanted.queries) {
        AttentionTiles::sum_keys(tile, x.features(), room.gradients, keys_at(k, tile), scale(), 1,
                                 queries_at(*dq, tile));
      }
      if (wanted.keys && dk) {
        AttentionTiles::sum_queries(tile, x.features(), room.gradients, queries_at(q, tile),
                                    scale(), 1, keys_at(*dk, tile));
      }
    }
    if (wanted.keys && dv) {
      x.drop(tile, room.draws, room.weights);
      AttentionTiles::sum_queries(tile, v.type.shape[3], room.weights, queries_at(dy, tile), 1, 1,
                                  keys_at(*dv, tile));
    }
  }

  /// p to room.weights.
  void compute_weights(const Tile& tile, Room& room) const {
    x.scores(tile, room.weights);
    x.draw(tile, room.draws);
    const Lines logs = queries_at(log_sum, tile);
    vectorized<WeightsLoop>()(room.weights, logs.data, logs.stride, tile.queries.count(),
                              tile.keys.count());
  }

  /// ds to room.gradients.
  void compute_scores(const Tile& tile, Room& room) const {
    AttentionTiles::dots(tile, v.type.shape[3], queries_at(dy, tile), keys_at(v, tile), 1,
                         room.gradients);
    x.drop(tile, room.draws, room.gradients);
    const Lines deltas = queries_at(delta, tile);
    vectorized<ScoresLoop>()(room.weights, room.gradients, deltas.data, deltas.stride,
                             tile.queries.count(), tile.keys.count());
  }

  float scale() const { return static_cast<float>(x.options().scale); }

  static constexpr auto query_lines = AttentionTiles::query_lines;
  static constexpr auto key_lines = AttentionTiles::key_lines;
  static Lines queries_at(const TensorView& view, const Tile& tile) {
    return query_lines(view, tile.head, tile.queries.begin);
  }
  static Lines keys_at(const TensorView& view, const Tile& tile) {
    return key_lines(view, tile.head, tile.keys.begin);
  }
};

}  // namespace

std::int64_t attention_gradients_workspace(const SiblingArgs& /*args*/) {
  return rooms_bytes<Room>();
}

Launch attention_gradients(const SiblingArgs& args) { return Gradients(args); }

}  // namespace meshwork::cpu
