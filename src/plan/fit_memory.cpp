#include "plan/fit_memory.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace meshwork {
namespace {

double flops_of(const MemoryChoice& choice) {
  return std::accumulate(choice.costs.begin(), choice.costs.end(), 0.0,
                         [](double sum, const SegmentCost& cost) { return sum + cost.flops; });
}

/// The segments of a way that save a thousandth of what the best of them does, those first that
/// save most per operation.
std::vector<Segment> by_gain(const std::vector<Segment>& way, const MemoryChoice& whole,
                             std::size_t stated) {
  const auto cost = [&](std::size_t i) { return whole.costs[stated + i]; };
  constexpr double kWorthIt = 0.001;
  double most = 0;
  for (std::size_t i = 0; i < way.size(); ++i) most = std::max(most, cost(i).bytes);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (cost(i).bytes > kWorthIt * most) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cost(a).bytes * (cost(b).flops + 1) > cost(b).bytes * (cost(a).flops + 1);
  });
  std::vector<Segment> result;
  for (const std::size_t i : order) result.push_back(way[i]);
  return result;
}

class Search {
 public:
  Search(const std::vector<Segment>& stated, std::int64_t limit, const MeasureSegments& measure)
      : stated_(stated), limit_(limit), measure_(measure) {}

  MemoryChoice run(const std::vector<std::vector<Segment>>& ways) {
    smallest_ = try_first({}, 0);
    if (smallest_.bytes <= limit_) return smallest_;
    for (const std::vector<Segment>& way : ways) {
      // What light segments achieve, others need not.
      const bool is_light = !way.empty() && way[0].light;
      if (best_ && best_is_light_ && !is_light) break;
      const MemoryChoice whole = try_first(way, way.size());
      if (whole.bytes < smallest_.bytes) smallest_ = whole;
      if (whole.bytes > limit_) continue;
      const std::vector<Segment> useful = by_gain(way, whole, stated_.size());
      const bool all = useful.size() == way.size();
      search(useful, all ? whole : try_first(useful, useful.size()), is_light);
    }
    return best_ ? *best_ : smallest_;
  }

 private:
  /// The stated segments and the first `count` of others.
  MemoryChoice try_first(const std::vector<Segment>& others, std::size_t count) const {
    std::vector<Segment> segments = stated_;
    segments.insert(segments.end(), others.begin(),
                    others.begin() + static_cast<std::ptrdiff_t>(count));
    return measure_(std::move(segments));
  }

  /// By halves: the fewest of the segments that fit. `whole`: all of them.
  void search(const std::vector<Segment>& segments, MemoryChoice whole, bool is_light) {
    if (whole.bytes > limit_) return;
    std::size_t too_few = 0;
    std::size_t enough = segments.size();
    while (enough - too_few > 1) {
      const std::size_t middle = (too_few + enough) / 2;
      MemoryChoice choice = try_first(segments, middle);
      if (choice.bytes <= limit_) {
        enough = middle;
        whole = std::move(choice);
      } else {
        too_few = middle;
      }
    }
    if (best_ && flops_of(whole) >= flops_of(*best_)) return;
    best_ = std::move(whole);
    best_is_light_ = is_light;
  }

  const std::vector<Segment>& stated_;
  std::int64_t limit_;
  const MeasureSegments& measure_;
  MemoryChoice smallest_;
  std::optional<MemoryChoice> best_;
  bool best_is_light_ = false;
};

}  // namespace

MemoryChoice fit_memory(const std::vector<Segment>& stated,
                        const std::vector<std::vector<Segment>>& ways, std::int64_t limit,
                        const MeasureSegments& measure) {
  return Search(stated, limit, measure).run(ways);
}

}  // namespace meshwork
