#include "data/shuffle.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

using namespace meshwork;

namespace {

std::vector<std::int64_t> shuffled(std::uint64_t seed, std::uint64_t pass, std::size_t count) {
  std::vector<std::int64_t> order(count, -1);
  data::permutation(seed, pass, order);
  return order;
}

}  // namespace

TEST_CASE("a permutation holds every number once and depends on seed and pass only") {
  for (const std::size_t count : {0, 1, 2, 3, 1000}) {
    auto order = shuffled(5, 0, count);
    CHECK(order == shuffled(5, 0, count));
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < count; ++i) CHECK(order[i] == static_cast<std::int64_t>(i));
  }
  CHECK(shuffled(5, 0, 1000) != shuffled(5, 1, 1000));
  CHECK(shuffled(5, 0, 1000) != shuffled(6, 0, 1000));
}

TEST_CASE("all permutations are equally likely") {
  constexpr int kDraws = 24000;
  std::map<std::vector<std::int64_t>, int> counts;
  for (int pass = 0; pass < kDraws; ++pass) {
    ++counts[shuffled(1, static_cast<std::uint64_t>(pass), 4)];
  }
  CHECK(counts.size() == 24);
  double chi_square = 0;
  for (const auto& [order, count] : counts) {
    const double expected = kDraws / 24.0;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  CHECK(chi_square < 49.7);  // 23 degrees of freedom, one in a thousand
}
