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

/// A choice of segments, measured.
using Measure = std::function<MemoryChoice(std::vector<Segment> segments)>;

class Search {
 public:
  Search(const std::vector<Segment>& stated, std::int64_t limit, const Measure& measure)
      : stated_(stated), limit_(limit), measure_(measure) {}

  MemoryChoice run(const std::vector<std::vector<Segment>>& ways) {
    smallest_ = try_first({}, 0);
    if (fits(smallest_)) return smallest_;
    for (const std::vector<Segment>& way : ways) {
      // What light segments achieve, others need not.
      const bool is_light = !way.empty() && way[0].light;
      if (best_ && best_is_light_ && !is_light) break;
      const MemoryChoice whole = try_first(way, way.size());
      if (whole.use.bytes() < smallest_.use.bytes()) smallest_ = whole;
      if (!fits(whole)) continue;
      const std::vector<Segment> useful = by_gain(way, whole, stated_.size());
      const bool all = useful.size() == way.size();
      search(useful, all ? whole : try_first(useful, useful.size()), is_light);
    }
    return best_ ? *best_ : smallest_;
  }

 private:
  bool fits(const MemoryChoice& choice) const { return choice.use.bytes() <= limit_; }

  /// The stated segments and the first `count` of others.
  MemoryChoice try_first(const std::vector<Segment>& others, std::size_t count) const {
    std::vector<Segment> segments = stated_;
    segments.insert(segments.end(), others.begin(),
                    others.begin() + static_cast<std::ptrdiff_t>(count));
    return measure_(std::move(segments));
  }

  /// By halves: the fewest of the segments that fit. `whole`: all of them.
  void search(const std::vector<Segment>& segments, MemoryChoice whole, bool is_light) {
    if (!fits(whole)) return;
    std::size_t too_few = 0;
    std::size_t enough = segments.size();
    while (enough - too_few > 1) {
      const std::size_t middle = (too_few + enough) / 2;
      MemoryChoice choice = try_first(segments, middle);
      if (fits(choice)) {
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
  const Measure& measure_;
  MemoryChoice smallest_;
  std::optional<MemoryChoice> best_;
  bool best_is_light_ = false;
};

/// On that of these devices that takes most.
MemoryChoice measured(std::vector<Segment> segments, const std::vector<int>& devices,
                      const MeasureSegments& measure) {
  SegmentsMeasure found = measure(segments, devices);
  MemoryChoice choice{std::move(segments), std::move(found.costs), found.devices[0], devices[0]};
  for (std::size_t i = 1; i < devices.size(); ++i) {
    if (found.devices[i].bytes() <= choice.use.bytes()) continue;
    choice.use = found.devices[i];
    choice.device = devices[i];
  }
  return choice;
}

}  // namespace

MemoryChoice fit_memory(const std::vector<Segment>& stated,
                        const std::vector<std::vector<Segment>>& ways, std::int64_t limit,
                        int devices, const MeasureSegments& measure) {
  std::vector<int> all(static_cast<std::size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  // The search measures devices that were seen to take most.
  std::vector<int> watched = all;
  if (devices > 1) watched = {measured(stated, all, measure).device};
  const Measure on_watched = [&](std::vector<Segment> segments) {
    return measured(std::move(segments), watched, measure);
  };
  for (;;) {
    MemoryChoice choice = Search(stated, limit, on_watched).run(ways);
    if (choice.use.bytes() > limit || watched.size() == all.size()) return choice;
    // Parts differ in size: another device may take most, now that less is kept.
    choice = measured(std::move(choice.segments), all, measure);
    if (choice.use.bytes() <= limit) return choice;
    watched.push_back(choice.device);
  }
}

}  // namespace meshwork
