#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "graph/attention_options.h"

namespace meshwork::cpu {

/// Lines of a matrix that follow each other at a stride, in elements.
template <class T>
struct Lines {
  T* data;
  std::int64_t stride;

  void clear(std::int64_t lines, std::int64_t width) const {
    for (std::int64_t i = 0; i < lines; ++i) std::fill_n(data + i * stride, width, T(0));
  }
};

/// A range of queries or keys.
struct Places {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end > begin ? end - begin : 0; }
};

/// The operands of an op of attention (graph/attention_options.h), in tiles: the queries of one
/// head by the keys that they attend to. Places count from the first that the device holds.
class AttentionTiles {
 public:
  /// Of a tile, at most.
  static constexpr std::int64_t kQueries = 64;
  static constexpr std::int64_t kKeys = 256;

  /// Tiles begin and end at multiples of `grain` keys, where there are keys: what queries do not
  /// see of them is hidden. It divides kKeys.
  AttentionTiles(const std::vector<TensorView>& inputs, const Attrs& attrs, std::size_t fixed,
                 std::int64_t grain);

  /// One head of queries, with the head of keys that it attends to.
  struct Head {
    std::int64_t sample, group, member;
  };
  struct Tile {
    Head head;
    Places queries;
    Places keys;
  };

  std::int64_t samples() const { return q_[0]; }
  std::int64_t queries() const { return q_[1]; }
  std::int64_t groups() const { return q_[2]; }
  std::int64_t members() const { return q_[3]; }
  std::int64_t features() const { return q_[4]; }
  std::int64_t keys() const { return keys_; }
  /// Multiplications of one product over all heads.
  std::int64_t work() const { return num_elements(q_) * keys_; }
  const AttentionOptions& options() const { return options_; }

  /// From the first to the last of the keys that some of the queries see, the mask aside.
  Places keys_of(const Head& head, Places queries) const;

  /// body(tile) for each tile of so many queries and keys, the queries of one after the other.
  /// Where tiles begin does not depend on the ranges, which begin with one.
  template <class Body>
  void for_each_tile(const Head& head, Places queries, Places keys, const Body& body) const {
    for (std::int64_t t = queries.begin; t < queries.end; t += kQueries) {
      const Places lines{t, std::min(t + kQueries, queries.end)};
      const Places seen = in_grains(keys_of(head, lines));
      const std::int64_t begin = std::max(keys.begin, seen.begin / kKeys * kKeys);
      for (std::int64_t s = begin; s < std::min(keys.end, seen.end); s += kKeys) {
        const Tile tile{
            head, lines, {std::max(s, seen.begin), std::min({s + kKeys, keys.end, seen.end})}};
        if (tile.keys.count() > 0) body(tile);
      }
    }
  }

  /// How many queries and keys a tile has: all pairs that there may be, whatever the segments.
  using TileShape = std::pair<std::int64_t, std::int64_t>;
  std::set<TileShape> tile_shapes() const;

  /// The lines of a tensor like q, v or log_sum, from the first of some places on.
  template <class T>
  static Lines<T> query_lines(const TensorView& view, const Head& head, std::int64_t first) {
    const Shape& shape = view.type.shape;
    const std::int64_t width = shape.size() == 5 ? shape[4] : 1;
    const std::int64_t place = (head.sample * shape[1] + first) * shape[2] + head.group;
    return {view.as<T>() + (place * shape[3] + head.member) * width, shape[2] * shape[3] * width};
  }
  /// Numbers of queries, as log_sums stand.
  Lines<float> log_sum_lines(const TensorView& view, const Head& head, std::int64_t first) const {
    if (!options_.by_head) return query_lines<float>(view, head, first);
    const std::int64_t place = (head.sample * groups() + head.group) * members() + head.member;
    return {view.as<float>() + place * queries() + first, 1};
  }
  template <class T>
  static Lines<T> key_lines(const TensorView& view, const Head& head, std::int64_t first) {
    const Shape& shape = view.type.shape;
    const std::int64_t place = (head.sample * shape[1] + first) * shape[2] + head.group;
    return {view.as<T>() + place * shape[3], shape[2] * shape[3]};
  }

  /// -infinity for scores, dense, where the query does not see the key.
  void hide(const Tile& tile, float* scores) const;

  /// What decides which weights of a tile dropout takes, in the order of the weights.
  void draw(const Tile& tile, float* draws) const;
  /// Multiplies weights, or what is like them, by 0 where dropout takes the weight, else by
  /// 1 / (1 - rate).
  void drop(const Tile& tile, const float* draws, float* weights) const;

 private:
  Places in_grains(Places keys) const {
    if (keys.count() == 0) return keys;
    return {keys.begin / grain_ * grain_, std::min(ceil_divide(keys.end, grain_) * grain_, keys_)};
  }
  std::int64_t distance_of(const Head& head) const;
  Places near_keys(const Head& head, Places queries) const;
  const std::int32_t* segments(std::size_t operand, const Head& head) const;
  Places alike(std::size_t operand, Places places, std::size_t other, Places others,
               const Head& head) const;
  const float* mask_line(const Head& head, std::int64_t query) const;

  AttentionOptions options_;
  AttentionExtras extras_;
  std::vector<TensorView> inputs_;
  Shape q_;
  std::int64_t keys_;
  std::int64_t grain_;
  std::int64_t distance_;  ///< of the first query held from the first key held, before a shift
};

}  // namespace meshwork::cpu
