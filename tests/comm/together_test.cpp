#include "comm/collectively.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

#include "comm/thread.h"
#include "support/errors.h"

namespace meshwork {
namespace {

TEST_CASE("all return when all succeed, and can go on") {
  for (const int devices : {1, 3}) {
    run_devices(devices, [&](World& world) {
      int done = 0;
      collectively(*world.hosts, [&] { ++done; });
      collectively(*world.hosts, [&] { ++done; });
      CHECK(done == 2);
    });
  }
}

TEST_CASE("the error of the lowest member reaches all, with its exit code") {
  run_devices(4, [](World& world) {
    const std::string error = test::error_of([&] {
      collectively(*world.hosts, [&] {
        if (world.hosts->rank() >= 2) fail(ExitCode::kFile, "disk {} is full", world.hosts->rank());
      });
    });
    CHECK(error == "3: disk 2 is full");
    collectively(*world.hosts, [] {});  // the group still works
  });
}

TEST_CASE("an exception that is no Error stays what it is on its member") {
  run_devices(3, [](World& world) {
    const auto call = [&] {
      collectively(*world.hosts, [&] {
        if (world.hosts->rank() == 1) throw std::runtime_error("broken");
      });
    };
    if (world.hosts->rank() == 1) {
      CHECK_THROWS_AS(call(), std::runtime_error);
    } else {
      CHECK(test::error_of(call) == "4: broken");
    }
  });
}

TEST_CASE("an empty message and a long one") {
  for (const std::string& message : {std::string(), std::string(100'000, 'x')}) {
    run_devices(2, [&](World& world) {
      const std::string error = test::error_of([&] {
        collectively(*world.hosts, [&] {
          if (world.hosts->rank() == 1) throw Error(ExitCode::kTraining, message);
        });
      });
      CHECK(error == "1: " + message);
    });
  }
}

}  // namespace
}  // namespace meshwork
