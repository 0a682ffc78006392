#include "base/runs.h"

namespace meshwork {

void for_each_run(const Region& region, const Shape& local,
                  const std::function<void(const Run&)>& visit) {
  // A run spans dimensions [split, rank): those that are whole, and the one before them.
  std::size_t split = local.size();
  std::int64_t length = 1;
  while (split > 0) {
    --split;
    length *= local[split];
    if (local[split] != region.global[split]) break;
  }
  const Shape strides = row_major_strides(region.global);
  Run run{.global = 0, .local = 0, .count = length};
  for (std::size_t d = 0; d < local.size(); ++d) run.global += region.offset[d] * strides[d];

  Shape index(split, 0);
  const std::int64_t total = num_elements(local);
  for (; run.local < total; run.local += length) {
    visit(run);
    for (std::size_t d = split; d-- > 0;) {
      run.global += strides[d];
      if (++index[d] < local[d]) break;
      run.global -= strides[d] * local[d];
      index[d] = 0;
    }
  }
}

std::vector<Run> runs_of(const Region& region, const Shape& local) {
  std::vector<Run> runs;
  for_each_run(region, local, [&](const Run& run) { runs.push_back(run); });
  return runs;
}

}  // namespace meshwork
