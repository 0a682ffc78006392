#include "data/runs.h"

#include <algorithm>

#include "base/check.h"
#include "base/runs.h"

namespace meshwork::data {

namespace {

/// Elements [start, start + count) of a sample.
void read_elements(const Field& field, std::int64_t row, std::int64_t start, std::int64_t count,
                   std::int64_t sample, std::byte* out) {
  field.source->read(row * sample + start, count, field.conversion, out);
  if (!field.normalization.empty()) {
    normalize(field.normalization, start,
              {reinterpret_cast<float*>(out), static_cast<std::size_t>(count)});
  }
}

}  // namespace

Runs runs_of(const Shape& global, const Shape& offset, const Shape& local) {
  MW_CHECK(offset.size() == global.size() && local.size() == global.size());
  for (std::size_t i = 0; i < global.size(); ++i) {
    MW_CHECK(offset[i] >= 0 && local[i] >= 0 && local[i] <= global[i] - offset[i],
             "[{}] of {} at {} in {}", i, to_string(local), to_string(offset), to_string(global));
  }
  Runs runs;
  for_each_run({global, offset}, local, [&](const Run& run) {
    runs.length = run.count;
    runs.starts.push_back(run.global);
  });
  return runs;
}

void read_rows(const Field& field, std::span<const std::int64_t> rows, const Runs& runs,
               std::byte* out, std::span<const std::int64_t> next) {
  constexpr std::size_t kAhead = 4;  // rows: shuffled ones lie anywhere in memory
  const std::int64_t sample = num_elements(field.shape);
  const auto run_bytes = static_cast<std::size_t>(runs.length) * size_of(field.dtype);
  if (runs.starts.empty()) return;
  const std::int64_t begin = runs.starts.front();
  const std::int64_t span = runs.starts.back() + runs.length - begin;
  const auto prefetch = [&](std::size_t i) {
    const bool is_next = i >= rows.size();
    if (is_next && i - rows.size() >= next.size()) return;
    const std::int64_t row = is_next ? next[i - rows.size()] : rows[i];
    field.source->prefetch(row * sample + begin, span);
  };
  for (std::size_t i = 0; i < std::min(kAhead, rows.size()); ++i) prefetch(i);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    prefetch(i + kAhead);
    for (const std::int64_t start : runs.starts) {
      read_elements(field, rows[i], start, runs.length, sample, out);
      out += run_bytes;
    }
  }
}

}  // namespace meshwork::data
