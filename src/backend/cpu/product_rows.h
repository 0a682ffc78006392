#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/cpu/gemm.h"

namespace meshwork::cpu {

/// The product [m, n] of a fusion group, of which some rows are computed at a time: they are read
/// while they are in the second-level cache, and the rest of it is never there.
class ProductRows {
 public:
  static bool is_product(const FusionGroup::Member& member) { return member.op == "einsum"; }

  /// Of inputs of the fusion, whose tiles have `tile` elements: blocks are whole tiles.
  ProductRows(const FusionGroup& args, const FusionGroup::Member& member, std::int64_t tile);

  /// Elements of a block; the last one may have fewer.
  std::int64_t block() const { return rows_ * row_; }

  /// Elements [begin, end), whole rows, to a place of their own.
  void compute(std::int64_t begin, std::int64_t end, float* to) const {
    gemm_.rows({begin / row_, end / row_}, to);
  }

 private:
  Gemm gemm_;
  std::int64_t row_;   ///< elements
  std::int64_t rows_;  ///< of a block
};

}  // namespace meshwork::cpu
