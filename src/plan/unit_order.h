#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// The nodes of a program in units that run together, single nodes at first, and an order in which
/// each unit can run. Units have numbers; one that has joined another is empty.
class UnitOrder {
 public:
  /// Two units that can stand beside each other.
  struct Pair {
    int first, second;
    std::vector<int> needed;  ///< units between them that `second` needs, sorted by number
  };

  /// `before`: of each node those that must run before it, as long as this lives.
  explicit UnitOrder(const ValueMap<std::vector<ValueId>>& before);

  int unit_of(ValueId id) const { return unit_of_[id]; }
  const std::vector<ValueId>& nodes(int unit) const;
  /// All units, empty ones, too.
  std::span<const int> order() const { return order_; }
  bool is_before(int one, int other) const;

  /// `first` and `second`, which stands behind it; nothing if a unit between them reads `first` and
  /// is needed by `second`. It looks at nothing but what `second` needs.
  std::optional<Pair> find_pair(int first, int second) const;

  /// Whether what reads `first` would have to wait for what `second` needs, both between the two.
  bool would_wait(const Pair& pair) const;

  /// Puts the two beside each other and makes `first` part of `second`. The pair is of this order:
  /// nothing has been joined since it was found.
  void join(const Pair& pair);

 private:
  void put_beside(const Pair& pair);

  const ValueMap<std::vector<ValueId>>& before_;
  std::vector<std::vector<ValueId>> nodes_;  ///< of each unit, in program order
  ValueMap<int> unit_of_;                    ///< of each node
  std::vector<int> order_;
  std::vector<int> position_;      ///< of each unit in the order
  mutable std::vector<int> seen_;  ///< number of the search that last met a unit: none is cleared
  mutable int search_ = 0;
};

}  // namespace meshwork
