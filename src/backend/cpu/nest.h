#pragma once

#include <array>
#include <cstdint>

#include "base/shape.h"

namespace meshwork::cpu {

constexpr std::size_t kMaxOperands = 3;

/// A loop nest over a dense result and operands that are broadcast to it, in as few dimensions as
/// their strides allow, cut into tasks of rows and columns. [8, 3, 4] with operands [8, 3, 4] and
/// [3, 4] is 8 rows of 12 columns; with [8, 1, 1] instead of [3, 4] too, its columns repeating.
class Nest {
 public:
  Nest(const Shape& result, const std::vector<Shape>& operands);

  /// What a task computes: rows of the result are `result_stride` apart. Offsets and strides are in
  /// elements; the columns of an operand are contiguous, or all the same where `repeats`.
  struct Block {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t result_offset = 0;
    std::int64_t result_stride = 0;
    std::array<std::int64_t, kMaxOperands> offset{};
    std::array<std::int64_t, kMaxOperands> stride{};
    std::array<bool, kMaxOperands> repeats{};
  };

  std::int64_t elements() const { return elements_; }
  std::int64_t tasks() const { return tasks_; }
  Block block(std::int64_t task) const;

 private:
  std::size_t operands_;
  std::int64_t elements_ = 0;
  std::int64_t tasks_ = 0;
  std::int64_t row_tasks_ = 1;     ///< parts of the rows
  std::int64_t column_tasks_ = 1;  ///< parts of the columns
  std::int64_t task_rows_ = 1;
  std::int64_t task_columns_ = 1;
  Shape extents_;                              ///< merged; the last two are rows and columns
  std::array<Shape, kMaxOperands> strides_{};  ///< along them, of each operand
};

}  // namespace meshwork::cpu
