#include "graph/reach.h"

namespace meshwork {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

}  // namespace

Interval Reach::of(const Interval& wanted, std::int64_t extent) const {
  if (wanted.size() == 0) return {0, 0};
  const std::int64_t from = up * -floor_divide(-(wanted.begin + first), down) + begin;
  const std::int64_t to = up * floor_divide(wanted.end - 1 + last, down) + end + 1;
  const Interval inside = intersection({from, to}, {0, extent});
  return inside.size() == 0 ? Interval{0, 0} : inside;
}

}  // namespace meshwork
