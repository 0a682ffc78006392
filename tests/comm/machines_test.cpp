#include "comm/machines.h"

#include <doctest/doctest.h>

#include <map>

namespace meshwork {
namespace {

TEST_CASE("machines are known by their members") {
  const Machines machines({7, 7, 3, 7, 3});
  CHECK(machines.count() == 2);
  CHECK(machines.of(0) == 0);
  CHECK(machines.of(4) == 1);
  CHECK(machines.members(0) == std::vector<int>{0, 1, 3});
  CHECK(machines.members(1) == std::vector<int>{2, 4});
  CHECK(machines.are_shared());
  CHECK_FALSE(Machines({0, 1, 2}).are_shared());
  const Machines group = machines.group(std::vector<int>{4, 0, 3});
  CHECK(group.members(0) == std::vector<int>{0});
  CHECK(group.members(1) == std::vector<int>{1, 2});
}

TEST_CASE("the members of a machine share the work for those of others evenly") {
  const Machines machines({0, 0, 0, 1, 1, 1, 1, 1, 2});
  for (int machine = 0; machine < machines.count(); ++machine) {
    std::map<int, int> served;
    for (int member = 0; member < 9; ++member) {
      if (machines.of(member) == machine) continue;
      const int agent = machines.agent(machine, member);
      CHECK(machines.of(agent) == machine);
      ++served[agent];
    }
    for (const auto& [agent, members] : served) {
      for (const auto& [other, others] : served) CHECK(members - others <= 1);
    }
  }
}

}  // namespace
}  // namespace meshwork
