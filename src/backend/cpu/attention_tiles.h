#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "graph/attention_options.h"

namespace meshwork::cpu {

/// Lines of a matrix that follow each other at a stride, in elements.
struct Lines {
  float* data;
  std::int64_t stride;

  Lines from(std::int64_t line) const { return {data + line * stride, stride}; }
};

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
  AttentionTiles(const KernelArgs& args, std::size_t fixed);

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

  /// All keys that some of the queries see, the mask aside, and the other way round.
  Places keys_of(Places queries) const;
  Places queries_of(Places keys) const;

  /// The lines of a tensor like q, v or log_sum, from the first of some places on.
  static Lines query_lines(const TensorView& view, const Head& head, std::int64_t first);
  static Lines key_lines(const TensorView& view, const Head& head, std::int64_t first);

  /// scale q k, dense; -infinity where the query does not see the key.
  void scores(const Tile& tile, float* to) const;

  /// Multiplies weights, or what is like them, by 0 where dropout takes the weight, else by
  /// 1 / (1 - rate). `draws` has room for as many.
  void drop(const Tile& tile, float* weights, float* draws) const;

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
  void hide(const Tile& tile, float* scores) const;
  const float* mask_line(const Head& head, std::int64_t query) const;

  AttentionOptions options_;
  AttentionExtras extras_;
  std::vector<TensorView> inputs_;
  Shape q_;
  std::int64_t keys_;
  std::int64_t distance_;  ///< of the first query held from the first key held
};

}  // namespace meshwork::cpu
