#pragma once

#include <cstdint>

#include "base/shape.h"

namespace meshwork::cpu {

/// A dense operand that is broadcast to a larger shape, as seen along the elements of that shape.
class Spread {
 public:
  Spread(const Shape& operand, const Shape& result);

  /// Whether the operand is as large as the result.
  bool is_dense() const { return extents_.size() == 1 && strides_[0] == 1; }
  /// Whether it is one element.
  bool is_scalar() const { return extents_.size() == 1 && strides_[0] == 0; }
  /// The number of elements after which it repeats, all of which stand in a row; 0 if it does not.
  std::int64_t period() const;

  /// What `count` elements of the result from `begin` on see of it.
  void fill(const float* operand, std::int64_t begin, std::int64_t count, float* y) const;

 private:
  Shape extents_;  ///< merged where the operand is dense or repeats throughout
  Shape strides_;
};

}  // namespace meshwork::cpu
