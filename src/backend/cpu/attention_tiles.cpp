#include "backend/cpu/attention_tiles.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/simd.h"
#include "backend/cpu/uniform.h"

namespace meshwork::cpu {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct MaskLoop {
  [[gnu::always_inline]] static void run(const float* mask, float* scores, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) scores[i] = mask[i] != 0 ? scores[i] : kHidden;
  }
};

/// Hides the keys of other segments.
struct SegmentLoop {
  [[gnu::always_inline]] static void run(const std::int32_t* segments, std::int32_t own,
                                         float* scores, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) scores[i] = segments[i] == own ? scores[i] : kHidden;
  }
};

struct DropLoop {
  [[gnu::always_inline]] static void run(const float* draws, float* weights, float rate,
                                         float factor, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) weights[i] *= draws[i] < rate ? 0.0F : factor;
  }
};

}  // namespace

AttentionTiles::AttentionTiles(const std::vector<TensorView>& inputs, const Attrs& attrs,
                               std::size_t fixed, std::int64_t grain)
    : options_(attention_options(attrs)),
      extras_(attention_extras(fixed, inputs.size(), attrs)),
      inputs_(inputs),
      q_(inputs[0].type.shape),
      keys_(inputs[1].type.shape[1]),
      grain_(grain),
      distance_(inputs[0].region.offset[1] - inputs[1].region.offset[1]) {}

std::set<AttentionTiles::TileShape> AttentionTiles::tile_shapes() const {
  std::set<TileShape> shapes;
  if (samples() * groups() * members() == 0) return shapes;
  const auto add = [&](const Tile& tile) {
    shapes.emplace(tile.queries.count(), tile.keys.count());
  };
  if (!extras_.shift && !extras_.key_segments) {
    for_each_tile({0, 0, 0}, {0, queries()}, {0, keys_}, add);
    return shapes;
  }
  for (const std::int64_t lines : {std::min(queries(), kQueries), queries() % kQueries}) {
    for (std::int64_t end = grain_; lines > 0 && end < keys_ + grain_; end += grain_) {
      for (std::int64_t begin = std::max<std::int64_t>(0, end - kKeys);
           begin < std::min(end, keys_); begin += grain_) {
        shapes.emplace(lines, std::min(end, keys_) - begin);
      }
    }
  }
  return shapes;
}

/// Of the first query held from the first key held.
std::int64_t AttentionTiles::distance_of(const Head& head) const {
  if (!extras_.shift) return distance_;
  return distance_ + inputs_[*extras_.shift].as<std::int32_t>()[head.sample];
}

const std::int32_t* AttentionTiles::segments(std::size_t operand, const Head& head) const {
  const TensorView& view = inputs_[operand];
  return view.as<std::int32_t>() + head.sample * view.type.shape[1];
}

/// The part of `places` without those at both ends whose segments none of `others` can have.
Places AttentionTiles::alike(std::size_t operand, Places places, std::size_t other, Places others,
                             const Head& head) const {
  if (places.count() == 0 || others.count() == 0) return {places.begin, places.begin};
  const std::int32_t* const own = segments(operand, head);
  const std::int32_t* const theirs = segments(other, head);
  const auto range = std::minmax_element(theirs + others.begin, theirs + others.end);
  const auto is_other = [&](std::int64_t at) {
    return own[at] < *range.first || own[at] > *range.second;
  };
  while (places.begin < places.end && is_other(places.begin)) ++places.begin;
  while (places.begin < places.end && is_other(places.end - 1)) --places.end;
  return places;
}

Places AttentionTiles::keys_of(const Head& head, Places queries) const {
  const Places near = near_keys(head, queries);
  if (!extras_.key_segments) return near;
  return alike(*extras_.key_segments, near, *extras_.query_segments, queries, head);
}

/// Segments aside.
Places AttentionTiles::near_keys(const Head& head, Places queries) const {
  Places seen{0, keys_};
  const std::int64_t distance = distance_of(head);
  const std::int64_t first = queries.begin + distance, last = queries.end - 1 + distance;
  if (options_.causal) seen.end = std::min(seen.end, last + 1);
  if (options_.window > 0) {
    seen.begin = std::max(seen.begin, first - options_.window + 1);
    seen.end = std::min(seen.end, last + options_.window);
  }
  return seen;
}

void AttentionTiles::hide(const Tile& tile, float* scores) const {
  const bool is_whole = !options_.causal && options_.window == 0;
  const std::int64_t count = tile.keys.count();
  for (std::int64_t i = tile.queries.begin; i < tile.queries.end; ++i, scores += count) {
    if (!is_whole) {
      const Places seen = near_keys(tile.head, {i, i + 1});
      const std::int64_t begin = std::clamp<std::int64_t>(seen.begin - tile.keys.begin, 0, count);
      const std::int64_t end = std::clamp<std::int64_t>(seen.end - tile.keys.begin, begin, count);
      std::fill_n(scores, begin, kHidden);
      std::fill_n(scores + end, count - end, kHidden);
    }
    if (extras_.key_segments) {
      vectorized<SegmentLoop>()(segments(*extras_.key_segments, tile.head) + tile.keys.begin,
                                segments(*extras_.query_segments, tile.head)[i], scores, count);
    }
    if (extras_.mask) {
      vectorized<MaskLoop>()(mask_line(tile.head, i) + tile.keys.begin, scores, count);
    }
  }
}

const float* AttentionTiles::mask_line(const Head& head, std::int64_t query) const {
  const TensorView& mask = inputs_[*extras_.mask];
  const Shape& shape = mask.type.shape;
  const std::int64_t places[] = {head.sample, query, head.group, head.member};
  std::int64_t line = 0;
  for (std::size_t d = 0; d < 4; ++d) line = line * shape[d] + (shape[d] == 1 ? 0 : places[d]);
  return mask.as<float>() + line * shape[4];
}

void AttentionTiles::draw(const Tile& tile, float* draws) const {
  if (options_.rate == 0) return;
  const Region& q = inputs_[0].region;
  const Region& k = inputs_[1].region;
  const DrawStream stream{
      .key = static_cast<std::uint64_t>(options_.key),
      .step = static_cast<std::uint64_t>(*inputs_[*extras_.step].as<std::int64_t>())};
  const std::int64_t head =
      (q.offset[2] + tile.head.group) * q.global[3] + q.offset[3] + tile.head.member;
  const std::int64_t first =
      ((q.offset[0] + tile.head.sample) * q.global[2] * q.global[3] + head) * q.global[1];
  const std::int64_t count = tile.keys.count();
  // Lines of all keys follow each other.
  const std::int64_t lines = count == k.global[1] ? tile.queries.count() : 1;
  for (std::int64_t i = tile.queries.begin; i < tile.queries.end; i += lines) {
    const std::int64_t line = (first + q.offset[1] + i) * k.global[1];
    draw_uniform(stream, static_cast<std::uint64_t>(line + k.offset[1] + tile.keys.begin), draws,
                 lines * count);
    draws += lines * count;
  }
}

void AttentionTiles::drop(const Tile& tile, const float* draws, float* weights) const {
  if (options_.rate == 0) return;
  vectorized<DropLoop>()(draws, weights, static_cast<float>(options_.rate),
                         static_cast<float>(1 / (1 - options_.rate)),
                         tile.queries.count() * tile.keys.count());
}

}  // namespace meshwork::cpu
