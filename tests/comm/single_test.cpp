#include "comm/single.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "contract.h"

namespace meshwork {

TEST_CASE("single: one device keeps the contract") {
  World world = single_world();
  CHECK(world.devices->rank() == 0);
  CHECK(world.devices->size() == 1);
  test::check_contract(world);
}

TEST_CASE("single: no call after abort, which is passed on") {
  int passed = 0;
  const World world = single_world([&](int code) { passed = code; });
  world.hosts->barrier();
  world.hosts->abort(3);
  CHECK(passed == 3);
  int number = 1;
  CHECK_THROWS_AS(world.hosts->barrier(), Error);
  CHECK_THROWS_AS(world.hosts->broadcast(&number, sizeof number, 0), Error);
  CHECK_THROWS_AS(world.hosts->all_gather(&number, sizeof number, &number), Error);
  single_world().hosts->barrier();
}

}  // namespace meshwork
