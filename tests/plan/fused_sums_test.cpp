// Sums that run together with the passes over what they add up.
#include <doctest/doctest.h>

#include "plan/fusion_program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// x - (sum of rows of x) s, and the sum itself.
struct Centering : Program {
  ValueId y;

  Centering(std::int64_t columns, std::int64_t axis) {
    const ValueId x = add(ops::kSquare, {input("x", {4, columns})});
    const ValueId sum = add(ops::kReduceSum, {x}, {{"axes", Shape{axis}}, {"keepdims", true}});
    const ValueId mean = add(ops::kMultiply, {sum, input("s", {})});
    y = add(ops::kSubtract, {x, mean});
    graph.outputs.push_back({"y", y});
  }
};

}  // namespace

TEST_CASE("sums of rows join the pass over their elements, and what is made of them") {
  CHECK(instructions(Centering(20, 1).plan()) == "square reduce_sum multiply subtract");
}

TEST_CASE("sums of short rows, of rows beyond the target's and of columns stay outside") {
  CHECK(instructions(Centering(6, 1).plan()) == "square | reduce_sum | multiply | subtract");
  CHECK(instructions(Centering(5000, 1).plan()) == "square | reduce_sum | multiply | subtract");
  CHECK(instructions(Centering(20, 0).plan()) == "square | reduce_sum | multiply | subtract");
}

TEST_CASE("sums of columns join the pass that computes these, where the target keeps so many") {
  Target target = cpu_target(1);
  target.column_sums = 40;
  const char* const joined = "square reduce_sum | multiply | subtract";
  const char* const apart = "square | reduce_sum | multiply | subtract";
  CHECK(groups(Centering(20, 0).graph, target) == joined);
  CHECK(groups(Centering(40, 0).graph, target) == joined);
  CHECK(groups(Centering(41, 0).graph, target) == apart);
  CHECK(groups(Centering(6, 0).graph, target) == apart);
  target.launch_bytes = 4 * 20 * 4;  // a value of so many bytes is worth it
  CHECK(groups(Centering(20, 0).graph, target) == joined);
  CHECK(groups(Centering(19, 0).graph, target) == apart);
}

TEST_CASE("what needs the sums of columns of a pass is no part of it") {
  Target target = cpu_target(1);
  target.column_sums = 100;
  Program p;
  const Attrs columns{{"axes", Shape{0}}, {"keepdims", false}};
  const ValueId x = p.input("x", {4, 20}), y = p.add(ops::kSquare, {x});
  const ValueId root = p.add(ops::kSqrt, {p.add(ops::kSubtract, {y, x})});
  const ValueId sums = p.add(ops::kReduceSum, {y}, columns);
  const ValueId more = p.add(ops::kReduceSum, {root}, columns);
  const ValueId z = p.add(ops::kMultiply, {p.add(ops::kAdd, {root, sums}), more});
  p.graph.outputs = {{"z", z}};
  CHECK(groups(p.graph, target) == "square subtract sqrt reduce_sum reduce_sum | add multiply");
  target.column_sums = 20;  // the first of them alone
  CHECK(groups(p.graph, target) == "square subtract sqrt reduce_sum | reduce_sum | add multiply");
}

TEST_CASE("sums of columns join a pass that reads these, too, unless it needs the sums") {
  Target target = cpu_target(1);
  target.column_sums = 100;
  const Attrs columns{{"axes", Shape{0}}, {"keepdims", false}};
  Program p;
  const ValueId x = p.input("x", {4, 20});
  const ValueId sums = p.add(ops::kReduceSum, {x}, columns);
  const ValueId y = p.add(ops::kSubtract, {x, sums});
  const ValueId z = p.add(ops::kSqrt, {p.add(ops::kMultiply, {x, p.input("w", {4, 20})})});
  p.graph.outputs = {{"y", y}, {"z", z}};
  CHECK(groups(p.graph, target) == "reduce_sum multiply sqrt | subtract");

  Program alone;
  const ValueId u = alone.input("u", {4, 20});
  const ValueId of_u = alone.add(ops::kReduceSum, {u}, columns);
  alone.graph.outputs = {{"y", alone.add(ops::kSubtract, {u, of_u})}};
  CHECK(groups(alone.graph, target) == "reduce_sum | subtract");
}

TEST_CASE("sums of rows of which a device has a part stay outside") {
  Centering p(20, 1);
  for (const ValueId id : p.graph.ids()) {
    Shape global = p.graph.type(id).shape;
    if (!global.empty() && global.back() == 20) global.back() = 40;
    p.graph.regions.push_back({global, Shape(global.size(), 0)});
  }
  CHECK(instructions(make_plan(p.graph, {}, true)) == "square | reduce_sum | multiply | subtract");
}

TEST_CASE("what makes float32 of bfloat16 stands where it is read") {
  Program p;
  const auto cast = [&](ValueId x, const char* dtype) {
    return p.add(ops::kCast, {x}, {{"dtype", std::string(dtype)}});
  };
  const ValueId narrow = cast(p.add(ops::kSquare, {p.input("x")}), "bfloat16");
  const ValueId wide = cast(narrow, "float32");
  const Attrs columns{{"axes", Shape{0}}, {"keepdims", true}};
  const ValueId sums = p.add(ops::kReduceSum, {cast(narrow, "float32")}, columns);
  p.graph.outputs.push_back({"y", p.add(ops::kSubtract, {wide, sums})});
  CHECK(instructions(p.plan()) == "square cast cast | reduce_sum | cast subtract");
}
