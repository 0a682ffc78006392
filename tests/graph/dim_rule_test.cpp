#include "graph/dim_rule.h"

#include <doctest/doctest.h>

#include "base/check.h"

using namespace meshwork;

namespace {

TensorType type(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

DimRule parsed(const std::string& text, const std::vector<Shape>& inputs, Shape output) {
  std::vector<TensorType> types;
  for (const Shape& shape : inputs) types.push_back(type(shape));
  return parse_rule(text, types, type(std::move(output)));
}

std::string broadcast_rule(const std::vector<Shape>& inputs, Shape output) {
  std::vector<TensorType> types;
  for (const Shape& shape : inputs) types.push_back(type(shape));
  const Attrs attrs;
  return elementwise_rule({types, attrs, type(std::move(output))});
}

}  // namespace

TEST_CASE("a contraction") {
  const DimRule rule = parsed("m k, k n -> m n", {{3, 4}, {4, 5}}, {3, 5});
  REQUIRE(rule.factors.size() == 3);
  CHECK(rule.factors[0].name == "m");
  CHECK(rule.factors[0].size == 3);
  CHECK(rule.factors[1].size == 4);
  CHECK(rule.factors[2].size == 5);
  CHECK(rule.inputs == std::vector<DimRule::Operand>{{{0}, {1}}, {{1}, {2}}});
  CHECK(rule.output == DimRule::Operand{{0}, {2}});
  CHECK(!DimRule::contains(rule.output, 1));
  CHECK(DimRule::dim_of(rule.inputs[1], 2) == 1);
  CHECK(DimRule::dim_of(rule.inputs[1], 0) == -1);
}

TEST_CASE("whole, merged and broadcast dimensions") {
  const DimRule whole = parsed("b [c] -> b [c]", {{2, 3}}, {2, 3});
  CHECK(!whole.factors[0].whole);
  CHECK(whole.factors[1].whole);

  const DimRule merged = parsed("a (b c) -> (a b) c", {{2, 6}}, {4, 3});
  CHECK(merged.factors[0].size == 2);
  CHECK(merged.factors[1].size == 2);
  CHECK(merged.factors[2].size == 3);
  CHECK(DimRule::major_factor(merged.output, 0) == 0);
  CHECK(DimRule::major_factor(merged.inputs[0], 1) == 1);
  // `b` is not what sharding dimension 0 of the result shards.
  CHECK(DimRule::dim_of(merged.output, 1) == -1);
  CHECK(DimRule::contains(merged.output, 1));

  const DimRule broadcast = parsed("a b, 1 b -> a b", {{4, 3}, {1, 3}}, {4, 3});
  CHECK(broadcast.inputs[1][0].empty());
  CHECK(DimRule::major_factor(broadcast.inputs[1], 0) == -1);
}

TEST_CASE("operands without dimensions") {
  CHECK(parsed("-> a b", {}, {2, 3}).inputs.empty());
  CHECK(parsed("-> a b", {{}}, {2, 3}).inputs == std::vector<DimRule::Operand>{{}});
  CHECK(parsed(" -> ", {{}}, {}).inputs.size() == 1);
  CHECK(parsed(",, -> ", {{}, {}, {}}, {}).inputs.size() == 3);
  CHECK(parsed(", a -> a", {{}, {3}}, {3}).inputs[0].empty());
  CHECK(parsed("a -> ", {{3}}, {}).output.empty());
}

TEST_CASE("extents of zero") {
  const DimRule rule = parsed("a b c -> a (b c)", {{0, 3, 4}}, {0, 12});
  CHECK(rule.factors[0].size == 0);
  CHECK(rule.factors[1].size == 3);
  CHECK(parsed("a (b c) -> a b c", {{4, 0}}, {4, 0, 3}).factors[1].size == 0);
}

TEST_CASE("a rule that does not fit is a broken invariant") {
  CHECK_THROWS_AS(parsed("a b -> a b", {{2, 3}}, {2, 4}), CheckFailure);
  CHECK_THROWS_AS(parsed("a b -> a", {{2}}, {2}), CheckFailure);
  CHECK_THROWS_AS(parsed("a -> a b", {{2}}, {2}), CheckFailure);
  CHECK_THROWS_AS(parsed("a, a -> a", {{2}}, {2}), CheckFailure);
  CHECK_THROWS_AS(parsed("a a", {{2}}, {2}), CheckFailure);
  CHECK_THROWS_AS(parsed("[a -> a", {{2}}, {2}), CheckFailure);
  CHECK_THROWS_AS(parsed("1 -> 1", {{2}}, {1}), CheckFailure);
  CHECK_THROWS_AS(parsed("(a b) -> a b", {{7}}, {2, 3}), CheckFailure);
}

TEST_CASE("elementwise rules follow numpy broadcasting") {
  CHECK(parsed(broadcast_rule({{4, 1, 3}, {3}}, {4, 2, 3}), {{4, 1, 3}, {3}}, {4, 2, 3}).inputs ==
        std::vector<DimRule::Operand>{{{0}, {}, {1}}, {{1}}});
  const DimRule ones = parsed(broadcast_rule({{1, 3}, {1, 1}}, {1, 3}), {{1, 3}, {1, 1}}, {1, 3});
  CHECK(ones.inputs[1][0] == ones.output[0]);
  CHECK(ones.inputs[1][1].empty());
}

TEST_CASE("factor names go past the alphabet") {
  CHECK(factor_names(0).empty());
  CHECK(factor_names(3) == "a b c");
  CHECK(factor_names(28).ends_with("y z a26 b27"));
}

TEST_CASE("a windowed dimension has the factor of the result and an extent of its own") {
  const DimRule rule = parsed("n a~ c, [k] c f -> n a f", {{2, 9, 3}, {3, 3, 4}}, {2, 4, 4});
  CHECK(rule.inputs[0] == DimRule::Operand{{0}, {1}, {2}});
  CHECK(rule.factors[1].size == 4);
  REQUIRE(rule.reaches.size() == 2);
  CHECK(rule.reaches[0][1].has_value());
  CHECK(!rule.reaches[0][0].has_value());
  CHECK(!rule.reaches[1][0].has_value());
}

TEST_CASE("what windows reach") {
  // Results o of stride 2, three wide, one element of padding: 2 o - 1 .. 2 o + 1.
  const Reach forward{.up = 2, .down = 1, .first = 0, .last = 0, .begin = -1, .end = 1};
  CHECK(forward.of({0, 2}, 9) == Interval{0, 4});
  CHECK(forward.of({2, 5}, 9) == Interval{3, 9});
  CHECK(forward.of({3, 3}, 9) == Interval{0, 0});
  // Element i is read by the results o with 2 o - 1 <= i <= 2 o + 1.
  const Reach backward{.up = 1, .down = 2, .first = -1, .last = 1, .begin = 0, .end = 0};
  CHECK(backward.of({0, 1}, 5) == Interval{0, 1});
  CHECK(backward.of({1, 2}, 5) == Interval{0, 2});
  CHECK(backward.of({3, 6}, 5) == Interval{1, 4});
  // An element that no result reads.
  const Reach sparse{.up = 1, .down = 3, .first = 0, .last = 0, .begin = 0, .end = 0};
  CHECK(sparse.of({1, 2}, 5) == Interval{0, 0});
  CHECK(sparse.of({1, 4}, 5) == Interval{1, 2});
}
