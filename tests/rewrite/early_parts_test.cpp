#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

using namespace meshwork;

namespace {

/// Of so many rows on all devices, which this one has, the twofold, and a slice of `size` of them
/// that is of so many rows on all devices.
Graph program_of(std::int64_t rows, std::int64_t size, std::int64_t rows_of_slice) {
  Graph program;
  const auto append = [&](const OpDef& op, std::vector<ValueId> inputs, Attrs attrs, Shape shape,
                          const Shape& global) {
    const Region region{global, Shape(global.size(), 0)};
    return program.append({.op = &op,
                           .inputs = std::move(inputs),
                           .attrs = std::move(attrs),
                           .type = {DType::kFloat32, std::move(shape)},
                           .path = {}},
                          region);
  };
  const ValueId x = append(ops::kInput, {}, {{"name", std::string("x")}}, {rows, 3}, {rows, 3});
  const ValueId two = append(ops::kConstant, {}, {{"value", 2.0}}, {}, {});
  const ValueId twofold = append(ops::kMultiply, {x, two}, {}, {rows, 3}, {rows, 3});
  const ValueId part =
      append(ops::kSlice, {twofold},
             {{"axis", std::int64_t{0}}, {"start", std::int64_t{0}}, {"size", size}}, {size, 3},
             {rows_of_slice, 3});
  program.outputs.push_back({"part", part});
  return program;
}

/// The op that gives the output once parts are taken early.
std::string last_op(Graph program) {
  for (const RewriteDef* rewrite : rewrites()) {
    if (rewrite->name == "early_parts") rewrite->run(program, {});
  }
  return std::string(program.node(program.outputs[0].value).op->name);
}

}  // namespace

TEST_CASE("a part of all is taken before it is computed with, the share of a device is not") {
  CHECK(last_op(program_of(4, 2, 2)) == "multiply");
  // Other devices have no row of it.
  CHECK(last_op(program_of(1, 1, 1)) == "slice");
  CHECK(last_op(program_of(4, 2, 4)) == "slice");
}
