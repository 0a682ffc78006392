// The search for layouts, by costs that are known.
#include "sharding/layout_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace meshwork;

namespace {

using Dims = std::vector<std::vector<std::string>>;

LayoutGroup group(const std::string& pattern, Shape shape, std::int64_t bytes) {
  return {pattern, false, shape, bytes, Dims(shape.size())};
}

const Dims& dims_of(const FoundLayouts& found, const std::string& pattern) {
  const auto group = std::ranges::find(found.groups, pattern, &LayoutGroup::pattern);
  REQUIRE(group != found.groups.end());
  return group->dims;
}

bool is_split(const LayoutGroup& group) {
  return std::ranges::any_of(group.dims, [](const auto& axes) { return !axes.empty(); });
}

}  // namespace

TEST_CASE("a search finds the column and row pair, one step after the other") {
  // Columns halve the work of both products; rows, once columns are there, spare a gather.
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    std::map<std::string, Dims> dims;
    for (const LayoutGroup& each : groups) dims[each.pattern] = each.dims;
    const bool columns = dims["up"] == Dims{{}, {"model"}};
    const bool rows = dims["down"] == Dims{{"model"}, {}};
    return LayoutCost{100.0 - (columns ? 40 : 0) - (columns && rows ? 10 : 0) + (rows ? 1 : 0),
                      1000};
  };
  LayoutSearch search;
  search.axes = {{"model", 2}};
  const FoundLayouts found =
      search_layouts({group("down", {8, 4}, 400), group("up", {4, 8}, 400)}, search, measure);
  CHECK(dims_of(found, "up") == Dims{{}, {"model"}});
  CHECK(dims_of(found, "down") == Dims{{"model"}, {}});
  CHECK(found.cost.work == 51);
  CHECK(found.measured > 1);
}

TEST_CASE("of splits that help about as much the best one is taken") {
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    const Dims& dims = groups[0].dims;
    return LayoutCost{!dims[0].empty() ? 90.0 : !dims[1].empty() ? 89.8 : 100.0, 100};
  };
  LayoutSearch search;
  search.axes = {{"model", 2}};
  const FoundLayouts found = search_layouts({group("w", {4, 4}, 64)}, search, measure);
  CHECK(dims_of(found, "w") == Dims{{}, {"model"}});
  CHECK(found.cost.work == 89.8);
}

TEST_CASE("splits that are of no use with what came later are taken back together") {
  // Rows are best in the end; until `up` is split columns are, and with these the small ones help.
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    std::map<std::string, Dims> dims;
    std::map<std::string, bool> split;
    for (const LayoutGroup& each : groups) {
      dims[each.pattern] = each.dims;
      split[each.pattern] = is_split(each);
    }
    const int small = int{split["a"]} + int{split["b"]};
    if (!split["down"]) return LayoutCost{split["up"] ? 90.0 : 100.0, 100};
    if (dims["down"] == Dims{{}, {"model"}}) {
      return LayoutCost{(split["up"] ? 50.0 : 70.0) - small, 100};
    }
    if (!split["up"]) return LayoutCost{72, 100};
    return LayoutCost{small == 0 ? 38.0 : small == 1 ? 41.0 : 40.0, 100};
  };
  LayoutSearch search;
  search.axes = {{"model", 2}};
  const FoundLayouts found = search_layouts(
      {group("down", {8, 8}, 256), group("up", {8}, 32), group("a", {2}, 9), group("b", {2}, 8)},
      search, measure);
  CHECK(dims_of(found, "down") == Dims{{"model"}, {}});
  CHECK(dims_of(found, "up") == Dims{{"model"}});
  CHECK(dims_of(found, "a") == Dims{{}});
  CHECK(dims_of(found, "b") == Dims{{}});
  CHECK(found.cost.work == 38);
}

TEST_CASE("what helps by next to nothing is left as it is, unless it saves memory") {
  double gain = 0.001, saved = 0;
  const auto measure = [&](const std::vector<LayoutGroup>& groups) {
    const bool split = is_split(groups[0]);
    return LayoutCost{split ? 1000 * (1 - gain) : 1000, split ? 100 - saved : 100};
  };
  LayoutSearch search;
  search.axes = {{"model", 4}};
  const auto found = [&] { return search_layouts({group("w", {8}, 32)}, search, measure); };
  CHECK_FALSE(is_split(found().groups[0]));
  gain = 0.01;
  CHECK(is_split(found().groups[0]));
  gain = 0;
  CHECK_FALSE(is_split(found().groups[0]));
  saved = 10;
  CHECK(is_split(found().groups[0]));
  gain = -0.01;
  CHECK_FALSE(is_split(found().groups[0]));
}

TEST_CASE("no dimension is split into more parts than it has elements, along all axes together") {
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    double parts = 1;
    for (const auto& axes : groups[0].dims) parts *= std::pow(2.0, double(axes.size()));
    return LayoutCost{100 / parts, 100};
  };
  LayoutSearch search;
  search.axes = {{"a", 2}, {"b", 2}, {"c", 2}};
  CHECK(search_layouts({group("w", {4}, 16)}, search, measure).groups[0].dims == Dims{{"a", "b"}});
  CHECK(search_layouts({group("w", {1, 3}, 12)}, search, measure).groups[0].dims ==
        Dims{{}, {"a"}});
  CHECK(search_layouts({group("w", {2, 5}, 40)}, search, measure).groups[0].dims ==
        Dims{{"a"}, {"b", "c"}});
}

TEST_CASE("axes of the batch are for steps that take too much memory, the largest weights first") {
  // To split along the batch costs a little, and saves half of a weight.
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    LayoutCost cost{100, 0};
    for (const LayoutGroup& each : groups) {
      cost.work += is_split(each) ? 1 : 0;
      cost.memory += double(each.bytes) * (is_split(each) ? 0.5 : 1);
    }
    return cost;
  };
  LayoutSearch search;
  search.more_axes = {{"data", 2}};
  const std::vector<LayoutGroup> groups{group("small", {4}, 100), group("large", {4}, 1000),
                                        group("middle", {4}, 500)};
  const auto split_within = [&](double limit) {
    search.memory_limit = limit;
    std::vector<std::string> split;
    for (const LayoutGroup& each : search_layouts(groups, search, measure).groups) {
      if (is_split(each)) split.push_back(each.pattern);
    }
    return split;
  };
  CHECK(split_within(1600).empty());
  CHECK(split_within(1200) == std::vector<std::string>{"large"});
  CHECK(split_within(1000) == std::vector<std::string>{"large", "middle"});
  CHECK(split_within(10) == std::vector<std::string>{"large", "middle", "small"});
}

TEST_CASE("the optimizer's state is split only where a step takes too much memory") {
  const auto measure = [](const std::vector<LayoutGroup>& groups) {
    LayoutCost cost{100, 0};
    for (const LayoutGroup& each : groups) {
      cost.work -= is_split(each) ? 10 : 0;
      cost.memory += double(each.bytes) * (is_split(each) ? 0.5 : 1);
    }
    return cost;
  };
  LayoutGroup state = group(".*", {100}, 1000);
  state.of_optimizer = true;
  LayoutSearch search;
  search.axes = {{"model", 2}};
  search.more_axes = {{"data", 2}};
  const auto found = [&] { return search_layouts({group("w", {1}, 400), state}, search, measure); };
  CHECK_FALSE(is_split(found().groups[0]));
  search.memory_limit = 1000;
  CHECK(is_split(found().groups[0]));
  CHECK(found().cost.memory == 900);
}
