// Which results stand in their operands, and where.
#include "graph/views.h"

#include <doctest/doctest.h>

#include "graph/builder.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

ValueId slice(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t start) {
  return b.add(ops::kSlice, {x}, {{"axis", axis}, {"start", start}, {"size", std::int64_t{2}}});
}

}  // namespace

TEST_CASE("a reshaped value stands where it stood; a part of a variable, where its rows are") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = ops::input(b, "x", {DType::kFloat32, {6, 5}});
  const Attrs shape{
      {"path", std::string("w")}, {"dtype", std::string("float32")}, {"shape", Shape{6, 5}}};
  const ValueId w = b.add(ops::kVariable, {}, shape);
  const ValueId flat = ops::reshape(b, x, {30});
  CHECK(view_offset(graph, flat) == 0);
  CHECK(viewed(graph, ops::reshape(b, flat, {3, 10})) == x);
  CHECK(viewed(graph, ops::scale(b, flat, 2)) != x);

  const ValueId rows = slice(b, w, 0, 3);
  CHECK(view_offset(graph, rows) == 3 * 5 * 4);
  CHECK(viewed(graph, rows) == w);
  CHECK(view_offset(graph, slice(b, rows, 0, 0)) == 0);
  CHECK(view_offset(graph, slice(b, ops::reshape(b, w, {10, 3}), 0, 8)) == 8 * 3 * 4);
  CHECK_FALSE(is_view(graph, slice(b, w, 1, 3)));  // columns lie apart
  CHECK_FALSE(is_view(graph, slice(b, x, 0, 3)));  // would keep all of x
  CHECK_FALSE(is_view(graph, w));
}
