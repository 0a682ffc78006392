#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "base/parallel.h"
#include "graph/attention_options.h"

namespace meshwork::cpu {

/// Lines of a matrix that follow each other at a stride, in elements.
struct Lines {
  float* data;
  std::int64_t stride;

  void clear(std::int64_t lines, std::int64_t width) const {
    for (std::int64_t i = 0; i < lines; ++i) std::fill_n(data + i * stride, width, 0.0F);
  }
};

/// What a thread has for itself of a workspace that has a Room for each.
template <class Room>
Room& room_in(std::byte* workspace) {
  return reinterpret_cast<Room*>(workspace)[omp_get_thread_num()];
}
template <class Room>
std::int64_t rooms_bytes() {
  return static_cast<std::int64_t>(sizeof(Room)) * omp_get_max_threads();
}

/// A range of queries or keys.
struct Places {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end > begin ? end - begin : 0; }
};

/// The operands of a float32 op of attention (graph/attention_options.h), in tiles: the queries of
/// one head by the keys that they attend to. Places count from the first that the device holds.
class AttentionTiles {
 public:
  /// Of a tile, at most.
  static constexpr std::int64_t kQueries = 64;
  static constexpr std::int64_t kKeys = 256;

  AttentionTiles(const std::vector<TensorView>& inputs, const Attrs& attrs, std::size_t fixed);

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
      const Places seen = keys_of(head, lines);
      const std::int64_t begin = std::max(keys.begin, seen.begin / kKeys * kKeys);
      for (std::int64_t s = begin; s < std::min(keys.end, seen.end); s += kKeys) {
        const Tile tile{
            head, lines, {std::max(s, seen.begin), std::min({s + kKeys, keys.end, seen.end})}};
        if (tile.keys.count() > 0) body(tile);
      }
    }
  }

  /// The lines of a tensor like q, v or log_sum, from the first of some places on.
  static Lines query_lines(const TensorView& view, const Head& head, std::int64_t first);
  static Lines key_lines(const TensorView& view, const Head& head, std::int64_t first);

  /// scale q k, dense; -infinity where the query does not see the key.
  void scores(const Tile& tile, float* to) const;

  /// What decides which weights of a tile dropout takes, in the order of the weights.
  void draw(const Tile& tile, float* draws) const;
  /// Multiplies weights, or what is like them, by 0 where dropout takes the weight, else by
  /// 1 / (1 - rate).
  void drop(const Tile& tile, const float* draws, float* weights) const;

  /// y = factor x w^T: of lines x for the queries and lines w for the keys, of so many features;
  /// y is dense.
  static void dots(const Tile& tile, std::int64_t features, Lines x, Lines w, float factor,
                   float* y);
  /// y = factor p w + before y: a line for each query.
  static void sum_keys(const Tile& tile, std::int64_t features, const float* p, Lines w,
                       float factor, float before, Lines y);
  /// y = factor p^T x + before y: a line for each key.
  static void sum_queries(const Tile& tile, std::int64_t features, const float* p, Lines x,
                          float factor, float before, Lines y);

 private:
  static void sum(char order, std::int64_t results, std::int64_t summed, std::int64_t features,
                  const float* p, Lines x, float factor, float before, Lines y);
  void hide(const Tile& tile, float* scores) const;
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
  std::int64_t distance_;  ///< of the first query held from the first key held, before a shift
};

}  // namespace meshwork::cpu
