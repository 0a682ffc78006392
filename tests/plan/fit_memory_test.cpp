// Which segments are chosen, of a program whose bytes are known.
#include "plan/fit_memory.h"

#include <doctest/doctest.h>

#include <map>

using namespace meshwork;

namespace {

struct Saving {
  std::int64_t bytes;
  double flops;
};

/// A program of 1000 bytes in which each segment saves what the table says.
MeasureSegments program_of(const std::map<std::string, Saving>& savings, int& measured) {
  return [&](const std::vector<Segment>& segments, const std::vector<int>& devices) {
    ++measured;
    SegmentsMeasure found;
    MemoryUse use;
    use.step = 1000;
    for (const Segment& segment : segments) {
      const Saving& saving = savings.at(segment.paths[0]);
      use.step -= saving.bytes;
      found.costs.push_back({1, static_cast<double>(saving.bytes), saving.flops});
    }
    found.devices.assign(devices.size(), use);
    return found;
  };
}

std::vector<std::string> names(const MemoryChoice& choice) {
  std::vector<std::string> result;
  for (const Segment& segment : choice.segments) result.push_back(segment.paths[0]);
  return result;
}

using Names = std::vector<std::string>;

const std::map<std::string, Saving> kSavings{
    {"a", {100, 1000}}, {"b", {200, 1000}}, {"c", {50, 10}}, {"d", {0, 10}}, {"light", {120, 1}}};
const std::vector<Segment> kWay{{{"a"}}, {{"b"}}, {{"c"}}, {{"d"}}};
const std::vector<Segment> kLightWay{{{"light"}, true}};

}  // namespace

TEST_CASE("nothing is repeated where the program fits") {
  int measured = 0;
  const MemoryChoice choice = fit_memory({}, {kWay}, 1000, 1, program_of(kSavings, measured));
  CHECK(choice.segments.empty());
  CHECK(measured == 1);
}

TEST_CASE("segments that save most per operation come first, and no more than it takes") {
  int measured = 0;
  const auto chosen = [&](std::int64_t limit) {
    return names(fit_memory({}, {kWay}, limit, 1, program_of(kSavings, measured)));
  };
  CHECK(chosen(950) == Names{"c"});
  CHECK(chosen(949) == Names{"c", "b"});
  CHECK(chosen(750) == Names{"c", "b"});
  CHECK(chosen(650) == Names{"c", "b", "a"});
}

TEST_CASE("of several ways the one that repeats least; light ones go before") {
  int measured = 0;
  const auto measure = program_of(kSavings, measured);
  CHECK(names(fit_memory({}, {kLightWay, kWay}, 900, 1, measure)) == Names{"light"});
  CHECK(names(fit_memory({}, {kLightWay, kWay}, 850, 1, measure)) == Names{"c", "b"});
  const std::vector<Segment> a{{{"a"}}};
  const std::vector<Segment> b_and_c{{{"b"}}, {{"c"}}};
  CHECK(names(fit_memory({}, {a, b_and_c}, 950, 1, measure)) == Names{"c"});
  CHECK(names(fit_memory({}, {a, b_and_c}, 900, 1, measure)) == Names{"a"});
}

TEST_CASE("stated segments stay; where nothing fits the smallest is told") {
  int measured = 0;
  const auto measure = program_of(kSavings, measured);
  CHECK(names(fit_memory({{{"a"}}}, {kWay}, 900, 1, measure)) == Names{"a"});
  const std::vector<Segment> other{{{"b"}}, {{"c"}}};
  CHECK(names(fit_memory({{{"a"}}}, {other}, 850, 1, measure)) == Names{"a", "c"});
  const MemoryChoice least = fit_memory({}, {kLightWay, kWay}, 10, 1, measure);
  CHECK(least.use.bytes() == 650);
  CHECK(least.segments == kWay);
}

TEST_CASE("a limit holds on every device, of which another one may take most when less is kept") {
  // The first device takes most; what "a" saves on it, it does not save on the second.
  const MeasureSegments measure = [](const std::vector<Segment>& segments,
                                     const std::vector<int>& devices) {
    SegmentsMeasure found;
    std::vector<std::int64_t> bytes{1000, 950};
    for (const Segment& segment : segments) {
      const bool is_a = segment.paths[0] == "a";
      bytes[0] -= is_a ? 200 : 120;
      bytes[1] -= is_a ? 0 : 120;
      found.costs.push_back({1, is_a ? 200.0 : 120.0, 1000});
    }
    for (const int device : devices) {
      found.devices.push_back({0, 0, bytes[static_cast<std::size_t>(device)]});
    }
    return found;
  };
  const std::vector<Segment> way{{{"a"}}, {{"b"}}};
  CHECK(names(fit_memory({}, {way}, 960, 2, measure)) == Names{"a"});
  const MemoryChoice both = fit_memory({}, {way}, 900, 2, measure);
  CHECK(names(both) == Names{"a", "b"});
  CHECK(both.device == 1);
  CHECK(both.use.bytes() == 830);
  const MemoryChoice none = fit_memory({}, {way}, 800, 2, measure);
  CHECK(none.device == 1);
  CHECK(none.use.bytes() == 830);
}
