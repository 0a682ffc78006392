#include "backend/copy_dim.h"

#include <algorithm>

namespace meshwork {

std::vector<CopyDim> simplified(std::vector<CopyDim> dims) {
  std::erase_if(dims, [](const CopyDim& dim) { return dim.extent == 1; });
  std::stable_sort(dims.begin(), dims.end(),
                   [](const CopyDim& a, const CopyDim& b) { return a.to > b.to; });
  std::vector<CopyDim> merged;
  for (const CopyDim& dim : dims) {
    if (!merged.empty() && merged.back().from == dim.from * dim.extent &&
        merged.back().to == dim.to * dim.extent) {
      merged.back() = {merged.back().extent * dim.extent, dim.from, dim.to};
    } else {
      merged.push_back(dim);
    }
  }
  return merged;
}

}  // namespace meshwork
