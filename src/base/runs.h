#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/shape.h"

namespace meshwork {

/// Elements that stand side by side both in the global tensor and in the part.
struct Run {
  std::int64_t global = 0;  ///< row-major index of the first in the global tensor
  std::int64_t local = 0;   ///< and in the part
  std::int64_t count = 0;
};

/// Visits the part of extents `local` in as few runs as there are, in order.
///
///     columns 2 and 3 of a [3, 4]: {2, 0, 2} {6, 2, 2} {10, 4, 2};   rows 1 and 2: {4, 0, 8}
void for_each_run(const Region& region, const Shape& local,
                  const std::function<void(const Run&)>& visit);

/// The same as a list.
std::vector<Run> runs_of(const Region& region, const Shape& local);

}  // namespace meshwork
