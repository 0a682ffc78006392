#include "exec/idle_threads.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace meshwork;

TEST_CASE("threads are idle for long enough in steps that follow each other") {
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto ranges = [](const std::vector<double>& seconds) {
    Ranges found;
    for (const StepRange& range : long_enough(seconds)) found.emplace_back(range.begin, range.end);
    return found;
  };
  CHECK(ranges({}).empty());
  CHECK(ranges({1e-6, 2e-6, 0, 7e-6}).empty());
  CHECK(ranges({0, 5e-6, 4e-6, 0, 1e-6, 1e-5}) == Ranges{{1, 3}, {4, 6}});
  CHECK(ranges({1e-5}) == Ranges{{0, 1}});
}
