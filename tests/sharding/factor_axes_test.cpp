// Which axes shard which factor of a merged dimension.
#include "sharding/factor_axes.h"

#include <doctest/doctest.h>

using namespace meshwork;

namespace {

const Mesh kMesh{{"a", "b", "c"}, {2, 3, 2}};

/// (g r) -> g r
DimRule split_rule(std::int64_t g, std::int64_t r) {
  const std::vector<TensorType> inputs{{DType::kFloat32, {g * r}}};
  return parse_rule("(g r) -> g r", inputs, {DType::kFloat32, {g, r}});
}

int factor_of(const DimRule& rule, const std::vector<int>& axes, int axis) {
  return factor_of_axis(rule, rule.inputs[0][0], axes, axis, kMesh);
}

}  // namespace

TEST_CASE("an axis shards the first factor that is not split down to single elements") {
  const DimRule rule = split_rule(2, 6);
  CHECK(factor_of(rule, {0}, 0) == 0);
  CHECK(factor_of(rule, {0, 1}, 1) == 1);
  CHECK(factor_of(rule, {0, 1, 2}, 2) == 1);
  CHECK(factor_of(rule, {1, 0}, 0) == 0);  // thirds of two elements
  CHECK(factor_of(split_rule(4, 3), {0, 2}, 2) == 0);
  CHECK(factor_of(split_rule(4, 3), {0, 2, 1}, 1) == 1);
  CHECK(factor_of(split_rule(1, 6), {0}, 0) == 1);
  CHECK(factor_of_axis(rule, {}, {0}, 0, kMesh) == -1);
}

TEST_CASE("axes of a dimension and of its factors belong together") {
  const DimRule rule = split_rule(2, 6);
  FactorAxes axes(2);
  add_axes(rule, rule.inputs[0][0], {0, 1, 2}, kMesh, axes);
  CHECK(axes == FactorAxes{{0}, {1, 2}});
  CHECK(axes_of(rule.inputs[0][0], axes) == std::vector<int>{0, 1, 2});
  CHECK(is_legal(rule, axes, kMesh));
}

TEST_CASE("parts of a factor must be parts of every dimension that has it") {
  const DimRule rule = split_rule(4, 5);
  CHECK(is_legal(rule, {{}, {}}, kMesh));
  CHECK(is_legal(rule, {{0}, {}}, kMesh));
  CHECK(is_legal(rule, {{0, 2}, {}}, kMesh));
  CHECK(is_legal(rule, {{0, 2}, {1}}, kMesh));  // 5 over 3: the last may be uneven
  CHECK(!is_legal(rule, {{1}, {}}, kMesh));     // 4 over 3
  CHECK(!is_legal(rule, {{}, {0}}, kMesh));     // of every group a part
  CHECK(!is_legal(rule, {{0}, {2}}, kMesh));
  CHECK(may_shard(rule, 0, 0, kMesh));
  CHECK(!may_shard(rule, 0, 1, kMesh));
  CHECK(may_shard(rule, 1, 1, kMesh));
}
