#include "graph/pass.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwork {

void PassTimes::add(std::string_view name, double seconds) {
  const std::lock_guard lock(mutex_);
  auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.name == name; });
  if (row == rows_.end()) row = rows_.insert(row, {.name = std::string(name)});
  ++row->runs;
  row->seconds += seconds;
}

std::string PassTimes::table() const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("{:<16} {:>6} {:>10}\n", "pass", "runs", "seconds");
  double sum = 0;
  for (const Row& row : rows_) {
    text += fmt::format("{:<16} {:>6} {:>10.6f}\n", row.name, row.runs, row.seconds);
    sum += row.seconds;
  }
  return text + fmt::format("{:<16} {:>6} {:>10.6f}\n", "all", "", sum);
}

}  // namespace meshwork
