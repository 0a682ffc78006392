#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/shape.h"

namespace meshwork {

/// Tensors that one rule of a layout map lays out, such as those of repeated blocks.
struct LayoutGroup {
  std::string pattern;
  bool of_optimizer = false;  ///< the optimizer's state of the weights that the pattern names
  Shape shape;                ///< the least extent that any of them has along each dimension
  std::int64_t bytes = 0;     ///< of all of them
  /// Axes that split each dimension, by name, major first.
  std::vector<std::vector<std::string>> dims;
};

/// What a step costs a device.
struct LayoutCost {
  double work = 0;    ///< of any unit that is proportional to time
  double memory = 0;  ///< bytes
};

using MeasureLayouts = std::function<LayoutCost(const std::vector<LayoutGroup>& groups)>;

struct SearchAxis {
  std::string name;
  int size = 1;
};

struct LayoutSearch {
  /// Along which weights may be split where that makes the step cheaper,
  std::vector<SearchAxis> axes;
  /// and those beside them, and for the optimizer's state, where it otherwise takes too much
  /// memory.
  std::vector<SearchAxis> more_axes;
  double memory_limit = std::numeric_limits<double>::infinity();  ///< bytes
};

struct FoundLayouts {
  std::vector<LayoutGroup> groups;
  LayoutCost before, cost;    ///< of the groups as they were given, and as they are now
  std::int64_t measured = 0;  ///< layouts that were tried
};

/// Layouts under which a step takes no more memory than it may, or as little as was found, and is
/// as cheap as can be reached by splitting one group along one axis at a time, or no more, the
/// largest group first: until nothing of that kind helps by half a hundredth. Then the splits of
/// the smallest groups are taken back that are of no use.
FoundLayouts search_layouts(std::vector<LayoutGroup> groups, const LayoutSearch& search,
                            const MeasureLayouts& measure);

}  // namespace meshwork
