#include "backend/cpu/nest.h"

#include <algorithm>

#include "backend/views.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {

Nest::Nest(const Shape& result, const std::vector<Shape>& operands)
    : operands_(operands.size()), elements_(num_elements(result)) {
  MW_CHECK(operands_ <= kMaxOperands);
  if (elements_ == 0) return;
  std::array<Shape, kMaxOperands> full;
  for (std::size_t o = 0; o < operands_; ++o) full[o] = broadcast_strides(operands[o], result);

  // From the last dimension to the first; a dimension joins the one behind it if all agree.
  const auto joins = [&](std::size_t d) {
    for (std::size_t o = 0; o < operands_; ++o) {
      if (full[o][d] != strides_[o].back() * extents_.back()) return false;
    }
    return true;
  };
  for (std::size_t d = result.size(); d-- > 0;) {
    if (result[d] == 1) continue;
    if (!extents_.empty() && joins(d)) {
      extents_.back() *= result[d];
      continue;
    }
    extents_.push_back(result[d]);
    for (std::size_t o = 0; o < operands_; ++o) strides_[o].push_back(full[o][d]);
  }
  while (extents_.size() < 2) {
    extents_.push_back(1);
    for (std::size_t o = 0; o < operands_; ++o) strides_[o].push_back(0);
  }
  std::reverse(extents_.begin(), extents_.end());
  for (Shape& strides : strides_) std::reverse(strides.begin(), strides.end());

  const std::int64_t columns = extents_.back();
  const std::int64_t rows = extents_[extents_.size() - 2];
  task_columns_ = std::min(columns, kTaskElements);
  task_rows_ = std::clamp<std::int64_t>(kTaskElements / columns, 1, rows);
  column_tasks_ = ceil_divide(columns, task_columns_);
  row_tasks_ = ceil_divide(rows, task_rows_);
  tasks_ = elements_ / (rows * columns) * row_tasks_ * column_tasks_;
}

Nest::Block Nest::block(std::int64_t task) const {
  const std::int64_t column = task % column_tasks_ * task_columns_;
  task /= column_tasks_;
  const std::int64_t row = task % row_tasks_ * task_rows_;
  task /= row_tasks_;

  const std::size_t last = extents_.size() - 1;
  Block block;
  block.columns = std::min(task_columns_, extents_[last] - column);
  block.rows = std::min(task_rows_, extents_[last - 1] - row);
  block.result_stride = extents_[last];
  block.result_offset = (task * extents_[last - 1] + row) * extents_[last] + column;
  for (std::size_t o = 0; o < operands_; ++o) {
    const Shape& strides = strides_[o];
    block.repeats[o] = strides[last] == 0;
    block.stride[o] = strides[last - 1];
    block.offset[o] = column * strides[last] + row * strides[last - 1];
    std::int64_t outer = task;
    for (std::size_t d = last - 1; d-- > 0;) {
      block.offset[o] += outer % extents_[d] * strides[d];
      outer /= extents_[d];
    }
  }
  return block;
}

}  // namespace meshwork::cpu
