#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace meshwork {

/// Indices begin <= i < end of one dimension; empty where begin == end.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  auto operator<=>(const Interval&) const = default;
};

/// What both intervals hold; an empty one at the nearer end where they do not meet.
inline Interval intersection(const Interval& a, const Interval& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Whether `outer` holds all of `inner`; an empty one is held by all.
inline bool contains(const Interval& outer, const Interval& inner) {
  return inner.size() == 0 || (outer.begin <= inner.begin && inner.end <= outer.end);
}

/// Which elements of a windowed dimension of an operand an op needs for the results [lo, hi):
///   from  up * ceil((lo + first) / down) + begin
///   to    up * floor((hi - 1 + last) / down) + end, inclusive,
/// as far as the operand has them. A 3x3 convolution of stride 1 and padding 1: {begin = -1,
/// end = 1}; its input gradient likewise.
struct Reach {
  std::int64_t up = 1;
  std::int64_t down = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  /// The elements for the results `wanted`, of a dimension of `extent`; none for no results.
  Interval of(const Interval& wanted, std::int64_t extent) const;
};

}  // namespace meshwork
