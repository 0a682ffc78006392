#include "sharding/layout_search.h"

#include <algorithm>

namespace meshwork {
namespace {

/// A part of the work, or of the memory, that is worth another layout.
constexpr double kWorthwhile = 5e-3;
/// A part of the work that is as good as nothing.
constexpr double kNothing = 1e-4;

/// So often all groups are looked at again: what helps one may come with another.
constexpr int kMostSweeps = 4;

class Search {
 public:
  Search(std::vector<LayoutGroup> groups, double memory_limit, const MeasureLayouts& measure)
      : limit_(memory_limit), measure_(measure) {
    found_.groups = std::move(groups);
    std::ranges::stable_sort(found_.groups, std::greater<>(), &LayoutGroup::bytes);
    found_.before = found_.cost = measured();
  }

  void along(const std::vector<SearchAxis>& axes, bool with_optimizer) {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool has_changed = false;
      for (LayoutGroup& group : found_.groups) {
        if (group.of_optimizer && !with_optimizer) continue;
        for (const SearchAxis& axis : axes) has_changed = place(group, axis, axes) || has_changed;
      }
      if (!has_changed) return;
    }
  }

  /// Takes back the splits of the smallest groups, as many as are of no use together: one may have
  /// been good only with others that were there before better ones. Whether it has done so.
  bool take_back() {
    auto best = found_.groups;
    bool any = false;
    for (auto group = found_.groups.rbegin(); group != found_.groups.rend(); ++group) {
      const auto dims = group->dims;
      for (auto& names : group->dims) names.clear();
      if (group->dims == dims) continue;
      const LayoutCost cost = measured();
      if (is_better(found_.cost, cost)) continue;
      found_.cost = cost;
      best = found_.groups;
      any = true;
    }
    found_.groups = std::move(best);
    return any;
  }

  bool takes_too_much() const { return excess(found_.cost) > 0; }
  FoundLayouts found() && { return std::move(found_); }

 private:
  LayoutCost measured() {
    ++found_.measured;
    return measure_(found_.groups);
  }

  double excess(const LayoutCost& cost) const { return std::max(0.0, cost.memory - limit_); }

  bool is_better(const LayoutCost& cost, const LayoutCost& than) const {
    if (excess(cost) != excess(than)) return excess(cost) < excess(than);
    if (cost.work < than.work * (1 - kWorthwhile)) return true;
    return cost.work <= than.work * (1 + kNothing) && cost.memory < than.memory * (1 - kWorthwhile);
  }

  /// Whether it is less, by however little: of layouts that are all worth it.
  bool is_less(const LayoutCost& cost, const LayoutCost& than) const {
    if (excess(cost) != excess(than)) return excess(cost) < excess(than);
    if (cost.work < than.work * (1 - kNothing)) return true;
    return cost.work <= than.work * (1 + kNothing) && cost.memory < than.memory;
  }

  /// Splits one dimension of the group along the axis, or none, whichever is best. Whether that is
  /// another one than before.
  bool place(LayoutGroup& group, const SearchAxis& axis, const std::vector<SearchAxis>& axes) {
    const auto before = group.dims;
    const LayoutCost cost_before = found_.cost;
    auto best = before;
    auto without = before;
    for (auto& names : without) std::erase(names, axis.name);
    for (std::size_t dim = 0; dim <= group.shape.size(); ++dim) {
      group.dims = without;
      if (dim < group.shape.size()) {
        if (parts(without[dim], axes) * axis.size > group.shape[dim]) continue;
        group.dims[dim].push_back(axis.name);
      }
      if (group.dims == before) continue;
      const LayoutCost cost = measured();
      if (!is_better(cost, cost_before)) continue;
      if (best != before && !is_less(cost, found_.cost)) continue;
      found_.cost = cost;
      best = group.dims;
    }
    group.dims = best;
    return best != before;
  }

  static std::int64_t parts(const std::vector<std::string>& names,
                            const std::vector<SearchAxis>& axes) {
    std::int64_t parts = 1;
    for (const SearchAxis& axis : axes) {
      if (std::ranges::find(names, axis.name) != names.end()) parts *= axis.size;
    }
    return parts;
  }

  double limit_;
  const MeasureLayouts& measure_;
  FoundLayouts found_;
};

}  // namespace

FoundLayouts search_layouts(std::vector<LayoutGroup> groups, const LayoutSearch& search,
                            const MeasureLayouts& measure) {
  Search run(std::move(groups), search.memory_limit, measure);
  run.along(search.axes, false);
  if (run.takes_too_much()) {
    std::vector<SearchAxis> all = search.axes;
    all.insert(all.end(), search.more_axes.begin(), search.more_axes.end());
    run.along(all, true);
  }
  if (run.take_back()) run.along(search.axes, false);
  return std::move(run).found();
}

}  // namespace meshwork
