#include "base/runs.h"

#include <doctest/doctest.h>

using namespace meshwork;

namespace {

/// {global, local, count} of every run.
std::vector<std::vector<std::int64_t>> runs(const Shape& global, const Shape& offset,
                                            const Shape& local) {
  std::vector<std::vector<std::int64_t>> result;
  for (const Run& run : runs_of({global, offset}, local)) {
    result.push_back({run.global, run.local, run.count});
  }
  return result;
}

}  // namespace

TEST_CASE("runs of a box") {
  using Runs = std::vector<std::vector<std::int64_t>>;
  CHECK(runs({4, 8}, {1, 0}, {2, 8}) == Runs{{8, 0, 16}});
  CHECK(runs({4, 8}, {1, 3}, {2, 3}) == Runs{{11, 0, 3}, {19, 3, 3}});
  CHECK(runs({2, 3, 4, 2}, {0, 1, 2, 0}, {2, 2, 1, 2}) ==
        Runs{{12, 0, 2}, {20, 2, 2}, {36, 4, 2}, {44, 6, 2}});
  CHECK(runs({}, {}, {}) == Runs{{0, 0, 1}});
  CHECK(runs({3}, {3}, {0}).empty());
}
