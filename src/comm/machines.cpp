#include "comm/machines.h"

#include <algorithm>
#include <utility>

namespace meshwork {

Machines::Machines(std::vector<int> of_members) : of_members_(std::move(of_members)) {
  std::vector<int> known;
  for (std::size_t member = 0; member < of_members_.size(); ++member) {
    const auto found = std::ranges::find(known, of_members_[member]);
    const auto machine = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(of_members_[member]);
      members_.emplace_back();
    }
    members_[machine].push_back(static_cast<int>(member));
    of_members_[member] = static_cast<int>(machine);
  }
}

int Machines::place(int member) const {
  const std::vector<int>& beside = members(of(member));
  return static_cast<int>(std::ranges::lower_bound(beside, member) - beside.begin());
}

int Machines::agent(int machine, int other) const {
  const std::vector<int>& mine = members(machine);
  const auto before = std::ranges::lower_bound(mine, other) - mine.begin();
  const int place = other - static_cast<int>(before);  // of `other` among those of other machines
  return mine[static_cast<std::size_t>(place) % mine.size()];
}

Machines Machines::group(std::span<const int> members) const {
  std::vector<int> machines;
  for (const int member : members) machines.push_back(of(member));
  return Machines(std::move(machines));
}

}  // namespace meshwork
