#pragma once

#include "backend/backend.h"

namespace meshwork {

/// What a pass goes over: elements, and where it adds up rows or columns of them, rows.
struct PassShape {
  explicit PassShape(const FusionGroup& group);

  Shape elements;
  Shape rows;            ///< the same with one element for each row
  std::int64_t row = 0;  ///< elements of a row; 0: nothing is added up

  bool is_of_rows(const Shape& shape) const { return row > 0 && shape == rows; }
};

/// Whether a member adds up the rows of its pass, or its columns: these all other sums add up.
bool sums_rows(const FusionGroup::Member& member);
bool sums_columns(const FusionGroup::Member& member);

/// Whether a member is a number for all elements, whatever its shape is.
inline bool is_constant(const FusionGroup::Member& member) { return member.op == "constant"; }
float number_of(const FusionGroup::Member& member);

/// `shape`, of an operand of a member, as it is broadcast to the member's: a scale along a
/// dimension as if it had ones behind.
Shape broadcast_shape(const FusionGroup::Member& member, std::size_t operand, Shape shape);

}  // namespace meshwork
