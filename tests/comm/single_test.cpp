#include "comm/single.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "contract.h"

namespace meshwork {

TEST_CASE("single: one device keeps the contract") {
  const auto comm = single_communicator();
  CHECK(comm->rank() == 0);
  CHECK(comm->size() == 1);
  test::check_contract(*comm);
}

TEST_CASE("single: no call after abort, which is passed on") {
  int passed = 0;
  const auto comm = single_communicator([&](int code) { passed = code; });
  const int members[] = {0};
  const auto group = comm->group(members);
  group->abort(3);
  CHECK(passed == 3);
  CHECK_THROWS_AS(group->barrier(), Error);
  comm->barrier();
}

}  // namespace meshwork
