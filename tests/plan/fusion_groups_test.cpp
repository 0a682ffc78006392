#include "plan/fusion_groups.h"

#include <doctest/doctest.h>

#include <set>

#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "plan/plan.h"
#include "support/make_plan.h"

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
  Plan plan(bool fusions = true) {
    for (const Node& node : graph.nodes) graph.regions.push_back(whole_region(node.type.shape));
    return testing::make_plan(graph, {}, fusions);
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
  const auto units = [&](bool is_read_elsewhere) {
    Program p;
    const ValueId w = p.input("w"), dy = p.input("dy"), more = p.input("more");
    p.builder.set_phase(Phase::kBackward);
    const ValueId gradient = p.add(ops::kAdd, {dy, more});
    if (is_read_elsewhere) p.graph.outputs.push_back({"norm", p.add(ops::kSquare, {gradient})});
    p.builder.set_phase(Phase::kUpdate);
    p.graph.outputs.push_back({"value", p.add(ops::kSubtract, {w, gradient})});
    for (const Node& node : p.graph.nodes) p.graph.regions.push_back(whole_region(node.type.shape));
    const Fused fused = find_fusion_groups(std::move(p.graph), target);
    return std::set(fused.fusion.begin(), fused.fusion.end()).size() - 3;  // but for the inputs
  };
  target.launch_bytes = num_bytes(kType);
  CHECK(units(false) == 1);
  CHECK(units(true) == 2);
  target.launch_bytes += 1;  // such updates wait for each other
  CHECK(units(false) == 2);
  target.launch_bytes = 0;
  CHECK(units(false) == 2);
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

/// "relu | multiply subtract": the ops of each group.
std::string groups(const Graph& program, const Target& target) {
  const Fused fused = find_fusion_groups(program, target);
  std::string text;
  int last = -1;
  for (const ValueId id : fused.program.ids()) {
    if (fused.program.node(id).op->leaf != Leaf::kNone) continue;
    if (!text.empty()) text += fused.fusion[id] == last ? " " : " | ";
    text += fused.program.node(id).op->name;
    last = fused.fusion[id];
  }
  return text;
}

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
  CHECK(instructions(testing::make_plan(p.graph, {}, true)) ==
        "square | reduce_sum | multiply | subtract");
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
