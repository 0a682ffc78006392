#include "backend/cuda/random/part.h"

#include "base/check.h"

namespace meshwork::cuda {

PartRuns part_runs(const Shape& local, const Region& region) {
  const Shape strides = row_major_strides(region.global);
  PartRuns part{};
  part.length = part.runs = 1;
  for (std::size_t d = 0; d < local.size(); ++d) part.begin += region.offset[d] * strides[d];
  bool whole = true;  // of all dimensions behind d
  for (std::size_t d = local.size(); d-- > 0;) {
    if (whole) {
      part.length *= local[d];
      whole = local[d] == region.global[d];
      continue;
    }
    part.runs *= local[d];
    if (local[d] == 1) continue;
    MW_CHECK(part.dims < PartRuns::kMost, "a part of {}", to_string(region.global));
    part.extent[part.dims] = local[d];
    part.stride[part.dims++] = strides[d];
  }
  return part;
}

}  // namespace meshwork::cuda
