// Which nodes run together: passes over elements, products of updates, ops that read the same.
#include <doctest/doctest.h>

#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "plan/fusion_program.h"

using namespace meshwork;
using namespace meshwork::testing;

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

TEST_CASE("ops that the target computes together run together where they read the same") {
  Program p;
  const ValueId q = p.input("q", {2, 3, 1, 1, 4}), k = p.input("k", {2, 3, 1, 4});
  const ValueId v = p.input("v", {2, 3, 1, 4}), w = p.input("w", {2, 3, 1, 4});
  const Attrs attrs = attention_attrs({.scale = 0.5});
  const ValueId y = p.add(ops::kAttention, {q, k, v}, attrs);
  const ValueId z = p.add(ops::kAttention, {q, k, w}, attrs);
  const ValueId between = p.add(ops::kReduceSum, {y}, {{"axes", Shape{1}}, {"keepdims", false}});
  p.builder.set_phase(Phase::kBackward);
  const ValueId log = p.add(ops::kAttentionLogSum, {q, k, v}, attrs);
  const ValueId other = p.add(ops::kAttentionLogSum, {q, k, v}, attention_attrs({.scale = 2}));
  for (const ValueId id : {z, between, log, other}) {
    p.graph.outputs.push_back({std::to_string(id), id});
  }
  CHECK(instructions(p.plan()) ==
        "attention attention_log_sum | attention | reduce_sum | attention_log_sum");
}

TEST_CASE("ops that are computed together may have changed places before") {
  Program p;
  const ValueId x = p.input("x", {2, 3, 1, 1}), q = p.input("q", {2, 3, 1, 1, 4});
  const ValueId k = p.input("k", {2, 3, 1, 4}), v = p.input("v", {2, 3, 1, 4});
  const Attrs attrs = attention_attrs({.scale = 0.5});
  const ValueId square = p.add(ops::kSquare, {x});
  const ValueId y = p.add(ops::kAttention, {q, k, v}, attrs);
  const ValueId log = p.add(ops::kAttentionLogSum, {q, k, v}, attrs);
  p.graph.outputs.push_back({"sum", p.add(ops::kAdd, {square, log})});
  p.graph.outputs.push_back({"y", y});
  CHECK(instructions(p.plan()) == "attention attention_log_sum | square add");
}

TEST_CASE("a fusion group goes around what does not depend on it") {
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

TEST_CASE("what stands between two nodes that run together stays in its turn") {
  Program p;
  const ValueId x = p.input("x"), w = p.input("w"), v = p.input("v", {9});
  const ValueId square = p.add(ops::kSquare, {x});
  const ValueId root = p.add(ops::kSqrt, {v});
  const ValueId sums = p.add(ops::kReduceSum, {w}, {{"axes", Shape{1}}, {"keepdims", true}});
  const ValueId y = p.add(ops::kDivide, {square, sums});
  p.graph.outputs = {{"root", root}, {"y", y}};
  CHECK(instructions(p.plan()) == "sqrt | reduce_sum | square divide");
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

TEST_CASE("a large gradient is computed in the pass of the update that alone reads it") {
  Target target = cpu_target(1);
  const auto found = [&](bool is_read_elsewhere) {
    Program p;
    const ValueId w = p.input("w"), dy = p.input("dy"), more = p.input("more");
    p.builder.set_phase(Phase::kBackward);
    const ValueId gradient = p.add(ops::kAdd, {dy, more});
    if (is_read_elsewhere) p.graph.outputs.push_back({"norm", p.add(ops::kSquare, {gradient})});
    p.builder.set_phase(Phase::kUpdate);
    p.graph.outputs.push_back({"value", p.add(ops::kSubtract, {w, gradient})});
    return groups(p.graph, target);
  };
  target.launch_bytes = num_bytes(kType);
  CHECK(found(false) == "add subtract");
  CHECK(found(true) == "add square | subtract");
  target.launch_bytes += 1;  // such updates wait for each other
  CHECK(found(false) == "add | subtract");
  target.launch_bytes = 0;
  CHECK(found(false) == "add | subtract");
}

TEST_CASE("a result takes the place of an operand unless a later node of the fusion reads it") {
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

namespace {

/// w - rate x^T dy, with x [batch, in] and dy [batch, out].
struct UpdateOfProduct : Program {
  ValueId x, product, value;

  UpdateOfProduct(std::int64_t batch, std::int64_t in, std::int64_t out,
                  Phase phase = Phase::kUpdate) {
    x = add(ops::kRelu, {input("x", {batch, in})});
    const ValueId dy = input("dy", {batch, out}), w = input("w", {in, out});
    const ValueId rate = input("rate", {});
    builder.set_phase(Phase::kBackward);
    product = add(ops::kEinsum, {x, dy}, {{"equation", std::string("b m, b n -> m n")}});
    builder.set_phase(phase);
    value = add(ops::kSubtract, {w, add(ops::kMultiply, {product, rate})});
    graph.outputs.push_back({"value", value});
  }
};

constexpr const char* kJoined = "relu | einsum multiply subtract";
constexpr const char* kApart = "relu | einsum | multiply subtract";

}  // namespace

TEST_CASE("a product is computed in the pass of the update that alone reads it") {
  UpdateOfProduct p(64, 512, 256);
  const Plan plan = p.plan();
  CHECK(instructions(plan) == kJoined);
  CHECK(plan.offsets[static_cast<std::size_t>(p.product)] == Plan::kNoPlace);
  CHECK(instructions(p.plan(false)) == "relu | einsum | multiply | subtract");

  UpdateOfProduct shown(64, 512, 256);
  shown.graph.outputs.push_back({"product", shown.product});
  CHECK(instructions(shown.plan()) == kApart);
}

TEST_CASE("products that are small, or not by rows, or of other phases stay apart") {
  CHECK(instructions(UpdateOfProduct(64, 100, 256).plan()) == kApart);
  CHECK(instructions(UpdateOfProduct(512, 512, 256).plan()) == kApart);
  CHECK(instructions(UpdateOfProduct(64, 512, 256, Phase::kBackward).plan()) == kApart);
}

TEST_CASE("what a product reads is not overwritten by the update of its first rows") {
  UpdateOfProduct p(256, 256, 256);
  const Plan plan = p.plan();
  CHECK(instructions(plan) == kJoined);
  const auto offset = [&](ValueId id) { return plan.offsets[static_cast<std::size_t>(id)]; };
  CHECK(offset(p.value) != offset(p.x));
}

namespace {

/// w - rate times the gradient of the table w [5000, 64], of so many positions.
struct UpdateOfTable : Program {
  explicit UpdateOfTable(std::int64_t positions) {
    const ValueId dy = input("dy", {positions, 64}), w = input("w", {5000, 64});
    const ValueId index = ops::input(builder, "index", {DType::kInt32, {positions}});
    const ValueId rate = input("rate", {});
    builder.set_phase(Phase::kUpdate);
    const ValueId sums = add(ops::kEmbeddingGradient, {dy, index}, {{"rows", std::int64_t{5000}}});
    graph.outputs.push_back({"w", add(ops::kSubtract, {w, add(ops::kMultiply, {sums, rate})})});
  }
};

}  // namespace

TEST_CASE("what a target without a cache gives by rows stays apart") {
  Target target = cpu_target(1);
  CHECK(groups(UpdateOfTable(300).graph, target) == "embedding_gradient multiply subtract");
  CHECK(groups(UpdateOfProduct(64, 512, 256).graph, target) == kJoined);
  target.cache = 0;
  CHECK(groups(UpdateOfTable(300).graph, target) == "embedding_gradient | multiply subtract");
  CHECK(groups(UpdateOfProduct(64, 512, 256).graph, target) == kApart);
  CHECK(groups(UpdateOfProduct(0, 512, 256).graph, target) == kApart);
}

namespace {

/// Half the sum of x, x times the square of s, and a number: passes over one element, of which each
/// could run at any time.
struct SingleElements : Program {
  ValueId x = input("x"), s = input("s", {});

  ValueId sum_of(ValueId id) {
    return add(ops::kReduceSum, {id}, {{"axes", Shape{0, 1}}, {"keepdims", false}});
  }
  SingleElements() {
    const ValueId half = add(ops::kMultiply, {sum_of(x), ops::constant(builder, 0.5)});
    const ValueId scaled = add(ops::kMultiply, {x, add(ops::kSquare, {s})});
    graph.outputs = {{"half", half}, {"scaled", scaled}, {"count", ops::constant(builder, 24)}};
  }
};

}  // namespace

TEST_CASE("passes over one element run together where it costs something to launch them") {
  Target target = cpu_target(1);
  CHECK(groups(SingleElements().graph, target) ==
        "reduce_sum | constant multiply | square | multiply | constant");
  target.launch_bytes = 1;
  CHECK(groups(SingleElements().graph, target) ==
        "reduce_sum | constant multiply square constant | multiply");
}

TEST_CASE("but none of them waits for what another needs") {
  Target target = cpu_target(1);
  target.launch_bytes = 1;
  Program p;
  const ValueId x = p.input("x"), s = p.input("s", {}), t = p.input("t", {});
  const ValueId early = p.add(ops::kSquare, {s});
  const ValueId scaled = p.add(ops::kMultiply, {x, early});
  const ValueId sum = p.add(ops::kReduceSum, {x}, {{"axes", Shape{0, 1}}, {"keepdims", false}});
  const ValueId late = p.add(ops::kSqrt, {sum});
  const ValueId other = p.add(ops::kNegate, {t});
  p.graph.outputs = {{"scaled", scaled}, {"late", late}, {"other", other}};
  CHECK(groups(p.graph, target) == "square negate | multiply | reduce_sum | sqrt");
}
