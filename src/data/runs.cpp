#include "data/runs.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork::data {

Runs runs_of(const Shape& global, const Shape& offset, const Shape& local) {
  MW_CHECK(offset.size() == global.size() && local.size() == global.size());
  for (std::size_t i = 0; i < global.size(); ++i) {
    MW_CHECK(offset[i] >= 0 && local[i] >= 0 && local[i] <= global[i] - offset[i],
             "[{}] of {} at {} in {}", i, to_string(local), to_string(offset), to_string(global));
  }
  Runs runs;
  if (num_elements(local) == 0) return runs;
  // A run takes in the last dimension that is not whole, and all after it.
  std::size_t outer = global.size();
  while (outer > 0) {
    --outer;
    runs.length *= local[outer];
    if (local[outer] != global[outer]) break;
  }
  const Shape strides = row_major_strides(global);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < global.size(); ++i) start += offset[i] * strides[i];
  Shape at(outer, 0);
  while (true) {
    runs.starts.push_back(start);
    std::size_t dim = outer;
    while (dim > 0) {  // the next position, last dimension fastest
      --dim;
      start += strides[dim];
      if (++at[dim] < local[dim]) break;
      start -= at[dim] * strides[dim];
      at[dim] = 0;
      if (dim == 0) return runs;
    }
    if (outer == 0) return runs;
  }
}

void read_rows(const Field& field, std::span<const std::int64_t> rows, const Runs& runs,
               std::byte* out) {
  const std::int64_t sample = num_elements(field.shape);
  const auto run_bytes = static_cast<std::size_t>(runs.length) * size_of(field.dtype);
  for (const std::int64_t row : rows) {
    for (const std::int64_t start : runs.starts) {
      field.source->read(row * sample + start, runs.length, field.conversion, out);
      out += run_bytes;
    }
  }
}

}  // namespace meshwork::data
