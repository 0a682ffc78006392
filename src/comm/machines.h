#pragma once

#include <span>
#include <vector>

namespace meshwork {

/// Which members of a group are on one machine, where they reach each other's memory.
class Machines {
 public:
  /// Machine of each member, by any number.
  explicit Machines(std::vector<int> of_members);

  int count() const { return static_cast<int>(members_.size()); }
  int of(int member) const { return of_members_[static_cast<std::size_t>(member)]; }
  /// Members of a machine, in order.
  const std::vector<int>& members(int machine) const {
    return members_[static_cast<std::size_t>(machine)];
  }
  /// Where a member stands among those of its machine.
  int place(int member) const;
  /// Whether any two members share one.
  bool are_shared() const { return members_.size() < of_members_.size(); }

  /// Which member of a machine speaks for all of it with `other`, a member of another machine.
  /// Members of other machines have agents in turn.
  int agent(int machine, int other) const;

  /// Those of a group of these members.
  Machines group(std::span<const int> members) const;

 private:
  std::vector<int> of_members_;  ///< numbers from 0 on, in the order of first members
  std::vector<std::vector<int>> members_;
};

}  // namespace meshwork
