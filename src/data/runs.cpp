#include "data/runs.h"

#include "base/check.h"
#include "base/runs.h"

namespace meshwork::data {

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

}  // namespace meshwork::data
