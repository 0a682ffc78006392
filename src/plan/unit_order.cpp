#include "plan/unit_order.h"

#include <algorithm>

#include "base/index.h"

namespace meshwork {

UnitOrder::UnitOrder(const ValueMap<std::vector<ValueId>>& before)
    : before_(before), seen_(before.size(), 0) {
  for (int i = 0; i < std::ssize(seen_); ++i) {
    nodes_.push_back({i});
    unit_of_.push_back(i);
    order_.push_back(i);
    position_.push_back(i);
  }
}

const std::vector<ValueId>& UnitOrder::nodes(int unit) const { return nodes_[index(unit)]; }

bool UnitOrder::is_before(int one, int other) const {
  return position_[index(one)] < position_[index(other)];
}

std::optional<UnitOrder::Pair> UnitOrder::find_pair(int first, int second) const {
  std::vector<int> met{second};
  seen_[index(second)] = ++search_;
  for (std::size_t i = 0; i < met.size(); ++i) {
    const int unit = met[i];
    for (const ValueId id : nodes(unit)) {
      for (const ValueId before : before_[id]) {
        const int other = unit_of(before);
        if (other == first && unit != second) return std::nullopt;
        if (!is_before(first, other) || seen_[index(other)] == search_) continue;
        seen_[index(other)] = search_;
        met.push_back(other);
      }
    }
  }
  met.erase(met.begin());
  std::ranges::sort(met);
  return Pair{first, second, std::move(met)};
}

bool UnitOrder::would_wait(const Pair& pair) const {
  const auto reads_first = [&](int unit) {
    return std::ranges::any_of(nodes(unit), [&](ValueId id) {
      return std::ranges::any_of(before_[id],
                                 [&](ValueId before) { return unit_of(before) == pair.first; });
    });
  };
  const auto first = order_.begin() + position_[index(pair.first)];
  const auto second = order_.begin() + position_[index(pair.second)];
  return !pair.needed.empty() && std::any_of(first + 1, second, reads_first);
}

void UnitOrder::join(const Pair& pair) {
  put_beside(pair);
  std::vector<ValueId>& joined = nodes_[index(pair.second)];
  for (const ValueId id : nodes(pair.first)) {
    unit_of_[id] = pair.second;
    joined.push_back(id);
  }
  nodes_[index(pair.first)].clear();
  std::ranges::sort(joined);
}

/// Where nothing between the two reads the first, that comes to the second, and all else stays in
/// its turn: updates, which free gradients, among it. Else from the place of the first on stand
/// what the second needs, the two, the others.
void UnitOrder::put_beside(const Pair& pair) {
  const auto begin = order_.begin() + position_[index(pair.first)];
  const auto end = order_.begin() + position_[index(pair.second)] + 1;
  if (!pair.needed.empty() && !would_wait(pair)) {
    std::rotate(begin, begin + 1, end - 1);
  } else {
    const auto first = std::stable_partition(
        begin, end, [&](int unit) { return std::ranges::binary_search(pair.needed, unit); });
    std::rotate(first + 1, end - 1, end);
  }
  for (auto unit = begin; unit != end; ++unit) {
    position_[index(*unit)] = static_cast<int>(unit - order_.begin());
  }
}

}  // namespace meshwork
