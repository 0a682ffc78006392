#include "plan/chains.h"

#include <doctest/doctest.h>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "plan/plan.h"

using namespace meshwork;

namespace {

const TensorType kType{DType::kFloat32, {4, 6}};

struct Program {
  Graph graph;
  GraphBuilder builder{graph};

  ValueId input(const std::string& name, Shape shape = kType.shape) {
    return ops::input(builder, name, {DType::kFloat32, std::move(shape)});
  }
  ValueId add(const OpDef& op, std::vector<ValueId> inputs, const Attrs& attrs = {}) {
    return builder.add(op, std::move(inputs), attrs);
  }
  Plan plan(bool chains = true) {
    for (const Node& node : graph.nodes) graph.windows.push_back(whole_window(node.type.shape));
    return make_plan(graph, nullptr, {.chains = chains, .reserved = 0});
  }
};

/// "add relu | reduce_sum | ..": the ops of each instruction.
std::string instructions(const Plan& plan) {
  std::string text;
  for (const Instruction& instruction : plan.instructions) {
    if (!text.empty()) text += " | ";
    for (const ValueId id : instruction.nodes) {
      if (id != instruction.nodes.front()) text += ' ';
      text += plan.program.node(id).op->name;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("elementwise nodes of one shape run together; what is between them has no place") {
  Program p;
  const ValueId x = p.input("x"), bias = p.input("bias", {6});
  const ValueId y = p.add(ops::kRelu, {p.add(ops::kAdd, {x, bias})});
  p.graph.outputs.push_back({"y", y});
  const Plan plan = p.plan();
  CHECK(instructions(plan) == "add relu");
  CHECK(plan.offsets[2] == Plan::kNoPlace);
  CHECK(plan.offsets[3] != Plan::kNoPlace);
  CHECK(instructions(p.plan(false)) == "add | relu");
}

TEST_CASE("a node joins no other whose result comes back to it through a third") {
  Program p;
  const ValueId x = p.input("x");
  const ValueId square = p.add(ops::kSquare, {x});
  const ValueId sums = p.add(ops::kReduceSum, {square}, {{"axes", Shape{1}}, {"keepdims", true}});
  const ValueId y = p.add(ops::kDivide, {square, sums});
  p.graph.outputs.push_back({"y", y});
  CHECK(instructions(p.plan()) == "square | reduce_sum | divide");
}

TEST_CASE("a chain goes around what does not depend on it") {
  Program p;
  const ValueId x = p.input("x"), w = p.input("w");
  const ValueId square = p.add(ops::kSquare, {x});
  const ValueId sums = p.add(ops::kReduceSum, {w}, {{"axes", Shape{1}}, {"keepdims", true}});
  const ValueId y = p.add(ops::kDivide, {square, sums});
  const ValueId late = p.add(ops::kReduceSum, {square}, {{"axes", Shape{0}}, {"keepdims", false}});
  p.graph.outputs.push_back({"y", y});
  p.graph.outputs.push_back({"late", late});
  CHECK(instructions(p.plan()) == "reduce_sum | square divide | reduce_sum");
}

TEST_CASE("nodes of other shapes and of other phases stay apart") {
  Program p;
  const ValueId x = p.input("x"), row = p.input("row", {6});
  const ValueId root = p.add(ops::kSqrt, {row});
  const ValueId y = p.add(ops::kMultiply, {x, root});
  p.builder.set_phase(Phase::kBackward);
  const ValueId mask = p.add(ops::kGreater, {y, x});
  p.graph.outputs.push_back({"mask", mask});
  CHECK(instructions(p.plan()) == "sqrt | multiply | greater");
}

TEST_CASE("a result takes the place of an operand unless a later node of the chain reads it") {
  for (const bool read_later : {false, true}) {
    Program p;
    const ValueId x = p.add(ops::kReduceSum, {p.input("x", {4, 6, 2})},
                            {{"axes", Shape{2}}, {"keepdims", false}});
    const ValueId root = p.add(ops::kSqrt, {x});
    const ValueId y = p.add(ops::kAdd, {root, read_later ? x : root});
    p.graph.outputs.push_back({"root", root});
    p.graph.outputs.push_back({"y", y});
    const Plan plan = p.plan();
    CHECK(instructions(plan) == "reduce_sum | sqrt add");
    const auto offset = [&](ValueId id) { return plan.offsets[static_cast<std::size_t>(id)]; };
    CHECK((offset(root) == offset(x)) == !read_later);
    CHECK((offset(y) == offset(x)) == read_later);
  }
}
