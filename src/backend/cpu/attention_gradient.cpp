// With weights p = exp(scale q k - log_sum), m what dropout makes of each (0 or 1 / (1 - rate)),
// and ds = p (m dy v - delta):
//
// attention_query_gradient: dq = scale times the sum over s of ds k
// attention_key_gradient:   dk = scale times the sum over t and r of ds q
// attention_value_gradient: dv = sum over t and r of p m dy
#include <algorithm>

#include "backend/cpu/attention_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "elementwise/exponential.h"

namespace meshwork::cpu {
namespace {

using Tile = AttentionTiles::Tile;
using Head = AttentionTiles::Head;

/// Of a tile that is [queries, keys] in a gradient of queries, and the other way round.
constexpr std::int64_t kOwn = 64;
constexpr std::int64_t kOthers = 256;

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
  float weights[kOwn * kOthers];
  float gradients[kOwn * kOthers];
  float draws[kOthers];
};

/// The operands of a gradient, and what it computes of each tile.
struct Gradient {
  AttentionTiles x;
  TensorView q, k, v, dy, log_sum, delta, output;
  std::byte* workspace;

  explicit Gradient(const KernelArgs& args)
      : x(args, kAttentionGradientOperands),
        q(args.inputs[0]),
        k(args.inputs[1]),
        v(args.inputs[2]),
        dy(args.inputs[3]),
        log_sum(args.inputs[4]),
        delta(args.inputs[5]),
        output(args.output),
        workspace(args.workspace) {}

  float scale() const { return static_cast<float>(x.options().scale); }

  Lines queries(const TensorView& view, const Tile& tile) const {
    return AttentionTiles::query_lines(view, tile.head, tile.queries.begin);
  }
  Lines keys(const TensorView& view, const Tile& tile) const {
    return AttentionTiles::key_lines(view, tile.head, tile.keys.begin);
  }

  void compute_weights(const Tile& tile, float* weights) const {
    x.scores(tile, weights);
    const Lines logs = queries(log_sum, tile);
    vectorized<WeightsLoop>()(weights, logs.data, logs.stride, tile.queries.count(),
                              tile.keys.count());
  }

  /// ds to room.gradients.
  void compute_scores(const Tile& tile, Room& room) const {
    compute_weights(tile, room.weights);
    AttentionTiles::dots(tile, v.type.shape[3], queries(dy, tile), keys(v, tile), 1,
                         room.gradients);
    x.drop(tile, room.gradients, room.draws);
    const Lines deltas = queries(delta, tile);
    vectorized<ScoresLoop>()(room.weights, room.gradients, deltas.data, deltas.stride,
                             tile.queries.count(), tile.keys.count());
  }

  Room& room() const { return room_in<Room>(workspace); }
};

/// The queries' gradient of a block of queries.
void compute_queries(const Gradient& g, const Head& head, Places own) {
  const std::int64_t width = g.x.features();
  const Lines y = AttentionTiles::query_lines(g.output, head, own.begin);
  const Places others = g.x.keys_of(head, own);
  if (others.count() == 0) y.clear(own.count(), width);
  for (std::int64_t begin = others.begin; begin < others.end; begin += kOthers) {
    const Tile tile{head, own, {begin, std::min(begin + kOthers, others.end)}};
    Room& room = g.room();
    g.compute_scores(tile, room);
    AttentionTiles::sum_keys(tile, width, room.gradients, g.keys(g.k, tile), g.scale(),
                             begin == others.begin ? 0.0F : 1.0F, y);
  }
}

/// A gradient of a block of keys: compute(tile, room, before) adds what a tile of queries gives.
template <class Compute>
void compute_keys(const Gradient& g, Head head, Places own, const Compute& compute) {
  const Places others = g.x.queries_of(head, own);
  bool is_first = true;
  for (head.member = 0; head.member < g.x.members(); ++head.member) {
    for (std::int64_t begin = others.begin; begin < others.end; begin += kOthers) {
      const Tile tile{head, {begin, std::min(begin + kOthers, others.end)}, own};
      compute(tile, g.room(), is_first ? 0.0F : 1.0F);
      is_first = false;
    }
  }
  if (is_first) {
    AttentionTiles::key_lines(g.output, head, own.begin).clear(own.count(), g.output.type.shape[3]);
  }
}

template <class Compute>
Launch bind_keys(const KernelArgs& args, const Compute& compute) {
  return [g = Gradient(args), compute] {
    const std::int64_t blocks = ceil_divide(g.x.keys(), kOwn);
    const std::int64_t tasks = g.x.samples() * g.x.groups() * blocks;
    for_each_task(tasks, g.x.work(), [&](std::int64_t task) {
      const std::int64_t begin = task % blocks * kOwn, head = task / blocks;
      compute_keys(
          g, {head / g.x.groups(), head % g.x.groups(), 0},
          {begin, std::min(begin + kOwn, g.x.keys())},
          [&](const Tile& tile, Room& room, float before) { compute(g, tile, room, before); });
    });
  };
}

}  // namespace

std::int64_t attention_gradient_workspace(const KernelArgs& /*args*/) {
  return rooms_bytes<Room>();
}

Launch attention_query_gradient(const KernelArgs& args) {
  return [g = Gradient(args)] {
    g.x.for_each_block(
        kOwn, [&](const Head& head, Places queries) { compute_queries(g, head, queries); });
  };
}

Launch attention_key_gradient(const KernelArgs& args) {
  return bind_keys(args, [](const Gradient& g, const Tile& tile, Room& room, float before) {
    g.compute_scores(tile, room);
    AttentionTiles::sum_queries(tile, g.x.features(), room.gradients, g.queries(g.q, tile),
                                g.scale(), before, g.keys(g.output, tile));
  });
}

Launch attention_value_gradient(const KernelArgs& args) {
  return bind_keys(args, [](const Gradient& g, const Tile& tile, Room& room, float before) {
    g.compute_weights(tile, room.weights);
    g.x.drop(tile, room.weights, room.draws);
    AttentionTiles::sum_queries(tile, g.v.type.shape[3], room.weights, g.queries(g.dy, tile), 1,
                                before, g.keys(g.output, tile));
  });
}

}  // namespace meshwork::cpu
