#include "backend/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

constexpr std::int64_t kTile = 16;

template <class T>
void copy_tile(const T* from, T* to, const CopyDim& rows, const CopyDim& columns) {
  T tile[kTile][kTile];
  for (std::int64_t c = 0; c < columns.extent; ++c) {
    for (std::int64_t r = 0; r < rows.extent; ++r) tile[c][r] = from[c * columns.from + r];
  }
  for (std::int64_t r = 0; r < rows.extent; ++r) {
    for (std::int64_t c = 0; c < columns.extent; ++c) to[r * rows.to + c] = tile[c][r];
  }
}

/// Reads run along rows, writes along columns.
template <class T>
void copy_transposed(const T* from, T* to, CopyDim rows, CopyDim columns) {
  const std::int64_t row_count = rows.extent, column_count = columns.extent;
  for (std::int64_t r = 0; r < row_count; r += kTile) {
    rows.extent = std::min(kTile, row_count - r);
    for (std::int64_t c = 0; c < column_count; c += kTile) {
      columns.extent = std::min(kTile, column_count - c);
      copy_tile(from + r + c * columns.from, to + r * rows.to + c, rows, columns);
    }
  }
}

template <class T>
void copy_block(const T* from, T* to, const CopyDim& rows, const CopyDim& columns) {
  if (rows.from == 1 && columns.from != 1 && columns.to == 1) {
    return copy_transposed(from, to, rows, columns);
  }
  for (std::int64_t r = 0; r < rows.extent; ++r) {
    const T* from_row = from + r * rows.from;
    T* to_row = to + r * rows.to;
    if (columns.from == 1 && columns.to == 1) {
      std::memcpy(to_row, from_row, static_cast<std::size_t>(columns.extent) * sizeof(T));
    } else if (columns.from == 0 && columns.to == 1) {
      std::fill_n(to_row, columns.extent, *from_row);
    } else {
      for (std::int64_t c = 0; c < columns.extent; ++c) {
        to_row[c * columns.to] = from_row[c * columns.from];
      }
    }
  }
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyDim> dims, DType dtype)
    : dtype_(dtype), outer_(simplified(std::move(dims))) {
  elements_ = 1;
  for (const CopyDim& dim : outer_) elements_ *= dim.extent;
  if (elements_ == 0) return;
  if (!outer_.empty()) {
    columns_ = outer_.back();
    outer_.pop_back();
  }
  // What is read contiguously makes the rows; else the next dimension.
  auto rows =
      std::find_if(outer_.begin(), outer_.end(), [](const CopyDim& dim) { return dim.from == 1; });
  if (rows == outer_.end() && !outer_.empty()) rows = outer_.end() - 1;
  if (rows != outer_.end()) {
    rows_ = *rows;
    outer_.erase(rows);
  }
  task_columns_ = std::min(columns_.extent, kTaskElements);
  task_rows_ = std::clamp<std::int64_t>(kTaskElements / task_columns_,
                                        std::min(kTile, rows_.extent), rows_.extent);
}

template <class T>
void StridedCopy::run_typed(const T* from, T* to) const {
  const std::int64_t column_tasks = ceil_divide(columns_.extent, task_columns_);
  const std::int64_t row_tasks = ceil_divide(rows_.extent, task_rows_);
  const std::int64_t outer = elements_ / (rows_.extent * columns_.extent);
  for_each_task(outer * row_tasks * column_tasks, elements_, [&](std::int64_t task) {
    const std::int64_t column = task % column_tasks * task_columns_;
    task /= column_tasks;
    const std::int64_t row = task % row_tasks * task_rows_;
    task /= row_tasks;
    std::int64_t source = row * rows_.from + column * columns_.from;
    std::int64_t target = row * rows_.to + column * columns_.to;
    for (std::size_t d = outer_.size(); d-- > 0;) {
      source += task % outer_[d].extent * outer_[d].from;
      target += task % outer_[d].extent * outer_[d].to;
      task /= outer_[d].extent;
    }
    CopyDim rows = rows_, columns = columns_;
    rows.extent = std::min(task_rows_, rows_.extent - row);
    columns.extent = std::min(task_columns_, columns_.extent - column);
    copy_block(from + source, to + target, rows, columns);
  });
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (elements_ == 0) return;
  with_type(dtype_, [&](auto value) {
    using T = decltype(value);
    run_typed(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

}  // namespace meshwork::cpu
