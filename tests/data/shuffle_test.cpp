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

TEST_CASE("a computed permutation holds every number once and depends on seed and pass") {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 15, 16, 17, 1000, 4095, 4096, 4097, 70000}) {
    CAPTURE(count);
    std::vector<bool> seen(static_cast<std::size_t>(count));
    const data::ComputedPermutation order(count, 5, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = order(i);
      REQUIRE((number >= 0 && number < count));
      CHECK_FALSE(seen[static_cast<std::size_t>(number)]);
      seen[static_cast<std::size_t>(number)] = true;
    }
  }
  const std::int64_t large = (std::int64_t{1} << 40) + 7;
  const auto first = [&](std::uint64_t seed, std::uint64_t pass) {
    const data::ComputedPermutation order(large, seed, pass);
    return std::vector{order(0), order(1), order(large - 1)};
  };
  CHECK(first(1, 0) == first(1, 0));
  CHECK(first(1, 0) != first(1, 1));
  CHECK(first(1, 0) != first(2, 0));
}

TEST_CASE("a computed permutation sends every place anywhere, and neighbours apart") {
  constexpr std::int64_t kCount = 10000;
  constexpr int kBins = 10;
  std::vector<std::vector<int>> moves(kBins, std::vector<int>(kBins));
  std::vector<int> steps(kBins);
  for (std::uint64_t pass = 0; pass < 10; ++pass) {
    const data::ComputedPermutation order(kCount, 1, pass);
    for (std::int64_t i = 0; i < kCount; ++i) {
      ++moves[static_cast<std::size_t>(i * kBins / kCount)]
             [static_cast<std::size_t>(order(i) * kBins / kCount)];
      const std::int64_t step = (order((i + 1) % kCount) - order(i) + kCount) % kCount;
      ++steps[static_cast<std::size_t>(step * kBins / kCount)];
    }
  }
  const auto chi_square = [](const std::vector<int>& counts, double expected) {
    double sum = 0;
    for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  for (const auto& row : moves) CHECK(chi_square(row, kCount / 10.0) < 35);  // 9 degrees of freedom
  CHECK(chi_square(steps, kCount) < 35);
}

TEST_CASE("the order of a pass is a list, or computed where that would be long, or none") {
  data::PassOrder few(1000, true, 7);
  few.begin(2);
  const auto listed = shuffled(7, 2, 1000);
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(few.at(i) == listed[static_cast<std::size_t>(i)]);
  constexpr std::int64_t kMany = data::kListedSamples + 1;
  data::PassOrder many(kMany, true, 7);
  for (const std::int64_t pass : {0, 3}) {
    many.begin(pass);
    const data::ComputedPermutation computed(kMany, 7, static_cast<std::uint64_t>(pass));
    for (std::int64_t i = 0; i < kMany; i += 100000) CHECK(many.at(i) == computed(i));
  }
  data::PassOrder in_order(kMany, false, 7);
  in_order.begin(0);
  CHECK(in_order.at(kMany - 1) == kMany - 1);
}
