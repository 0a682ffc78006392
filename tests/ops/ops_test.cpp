#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "graph/attention_options.h"
#include "graph/dim_rule.h"
#include "graph/flops.h"
#include "graph/sparse_roles.h"
#include "ops/cases.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

ValueId input(GraphBuilder& b, const TensorType& type) {
  return ops::input(b, fmt::format("x{}", b.graph().nodes.size()), type);
}

ValueId input(GraphBuilder& b, Shape shape) {
  return input(b, TensorType{DType::kFloat32, std::move(shape)});
}

ValueId build(GraphBuilder& b, const OpCase& op_case) {
  std::vector<ValueId> inputs;
  for (const CaseInput& operand : op_case.inputs) inputs.push_back(input(b, operand.type));
  return append(b, op_case, std::move(inputs));
}

std::string rule(const OpDef& op, const std::vector<Shape>& shapes, const Attrs& attrs = {}) {
  std::vector<TensorType> types;
  for (const Shape& shape : shapes) types.push_back({DType::kFloat32, shape});
  if (&op == &ops::kOneHot) types[0].dtype = DType::kInt32;
  for (const OpDef* indexed : {&ops::kTakeAlongAxis, &ops::kEmbedding, &ops::kEmbeddingGradient}) {
    if (&op == indexed) types[1].dtype = DType::kInt32;
  }
  OpArgs args{.inputs = types, .attrs = attrs, .output = {}};
  args.output = op.infer(args);
  return op.rule(args);
}

std::string reshape_rule(const Shape& from, const Shape& to) {
  return rule(ops::kReshape, {from}, {{"shape", to}});
}

double flops(const OpDef& op, const std::vector<Shape>& shapes, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Shape& shape : shapes) types.push_back({DType::kFloat32, shape});
  OpArgs args{.inputs = types, .attrs = attrs, .output = {}};
  args.output = op.infer(args);
  return op.flops(args);
}

std::string infer_error(const OpDef& op, const std::vector<Shape>& shapes,
                        const Attrs& attrs = {}) {
  try {
    rule(op, shapes, attrs);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Every node of the graph has a rule that fits its types.
void check_rules(const Graph& graph) {
  for (const Node& node : graph.nodes) CHECK_NOTHROW(rule_of(graph, node));
}

}  // namespace

TEST_CASE("the registry is sorted, complete for find, and covered by cases") {
  const auto& all = ops::registry();
  CHECK(all.size() == 70 + elementwise::All::kSize);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) CHECK(all[i]->name < all[i + 1]->name);
  std::set<const OpDef*> covered;
  for (const OpCase& op_case : op_cases()) covered.insert(op_case.op);
  for (const OpDef* op : all) {
    INFO(op->name);
    CHECK(ops::find(op->name) == op);
    CHECK(covered.count(op) == 1);
    CHECK((op->infer != nullptr && op->rule != nullptr));
  }
  CHECK(ops::find("") == nullptr);
  CHECK(ops::find("ad") == nullptr);
  CHECK(ops::find("zzz") == nullptr);
}

TEST_CASE("names of cases are unique and draws repeat and keep clear of kinks") {
  std::set<std::string> names;
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    CHECK(names.insert(op_case.name).second);
    for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
      const HostTensor drawn = draw(op_case, i);
      CHECK(drawn == draw(op_case, i));
      CHECK(drawn.type == op_case.inputs[i].type);
      if (op_case.inputs[i].kind != CaseInput::Kind::kUniform) continue;
      for (const double x : to_doubles(drawn)) {
        CHECK((x >= op_case.inputs[i].low - 1e-6 && x <= op_case.inputs[i].high + 1e-6));
        for (const double kink : op_case.kinks) CHECK(std::abs(x - kink) > 0.99 * kKinkMargin);
      }
    }
  }
}

TEST_CASE("each case infers its type and has a rule that fits") {
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    Graph graph;
    GraphBuilder b(graph);
    const ValueId y = build(b, op_case);
    CHECK(b.type(y) == op_case.output);
    check_rules(graph);
    verify(graph);
    if (op_case.op->flops == nullptr) continue;
    const auto types = input_types(graph, b.node(y));
    CHECK(op_case.op->flops({types, op_case.attrs, op_case.output}) >= 0);
  }
}

TEST_CASE("gradients have the types of their operands") {
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    if (op_case.op->grad == nullptr) CHECK(op_case.differentiable.empty());
    if (op_case.differentiable.empty()) continue;
    Graph graph;
    GraphBuilder b(graph);
    const ValueId y = build(b, op_case);
    const ValueId dy = input(b, op_case.output);
    b.set_phase(Phase::kBackward);
    const std::vector<ValueId> gradients = op_case.op->grad(b, y, dy);
    REQUIRE(gradients.size() == op_case.inputs.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const bool expected =
          std::count(op_case.differentiable.begin(), op_case.differentiable.end(), i) == 1;
      CHECK((gradients[i] != kNoValue) == expected);
      if (gradients[i] != kNoValue) CHECK(b.type(gradients[i]) == op_case.inputs[i].type);
    }
    check_rules(graph);
    verify(graph);
  }
}

TEST_CASE("split forms have the same type and nothing that must be whole") {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op->split == nullptr) continue;
    INFO(op_case.name);
    Graph graph;
    GraphBuilder b(graph);
    const ValueId x = input(b, op_case.inputs[0].type);
    const ValueId y = op_case.op->split(b, std::vector<ValueId>{x}, op_case.attrs);
    CHECK(b.type(y) == op_case.output);
    verify(graph);
    for (const Node& node : graph.nodes) {
      for (const auto& factor : rule_of(graph, node).factors) CHECK(!factor.whole);
    }
  }
}

TEST_CASE("reshapes follow the common refinement of both shapes") {
  CHECK(reshape_rule({4, 2, 3}, {4, 6}) == "a b c -> a (b c)");
  CHECK(reshape_rule({4, 6}, {4, 2, 3}) == "a (b c) -> a b c");
  CHECK(reshape_rule({2, 6}, {4, 3}) == "a (b c) -> (a b) c");
  CHECK(reshape_rule({2, 3}, {3, 2}) == "[a] [b] -> [c] [d]");
  CHECK(reshape_rule({5, 2, 3}, {5, 3, 2}) == "a [b] [c] -> a [d] [e]");
  CHECK(reshape_rule({4, 9}, {2, 6, 3}) == "(a b) (c d) -> a (b c) d");
  CHECK(reshape_rule({128, 28, 28, 1}, {128, 784}) == "a b c 1 -> a (b c)");
  CHECK(reshape_rule({}, {1, 1}) == " -> 1 1");
  CHECK(reshape_rule({1}, {}) == "1 -> ");
  CHECK(reshape_rule({4, 1, 3}, {1, 4, 3, 1}) == "a 1 b -> 1 a b 1");
  CHECK(reshape_rule({1, 28, 1, 3}, {1, 28, 1, 3, 1}) == "a b c d -> a b c d 1");
  CHECK(reshape_rule({1, 4, 6}, {1, 24}) == "a b c -> a (b c)");
  CHECK(reshape_rule({1, 24}, {1, 1, 4, 6}) == "a (b c) -> a 1 b c");
  CHECK(reshape_rule({0, 3, 1}, {3, 0}) == "[a] [b] 1 -> [c] [d]");
  CHECK(reshape_rule({24}, {2, 3, 4}) == "(a b c) -> a b c");
  CHECK(reshape_rule({0, 3, 4}, {0, 12}) == "a b c -> a (b c)");
  CHECK(reshape_rule({3, 0}, {0, 3}) == "[a] [b] -> [c] [d]");
  CHECK(reshape_rule({2, 0}, {0}) == "[a] [b] -> [c]");
}

TEST_CASE("every reshape of small shapes has a rule that fits") {
  std::vector<Shape> shapes{{}};
  for (std::size_t begin = 0, rank = 0; rank < 3; ++rank) {
    const std::size_t end = shapes.size();
    for (std::size_t i = begin; i < end; ++i) {
      for (const std::int64_t extent : {0, 1, 2, 3, 4, 6, 9}) {
        Shape longer = shapes[i];
        longer.push_back(extent);
        shapes.push_back(std::move(longer));
      }
    }
    begin = end;
  }
  int count = 0;
  for (const Shape& from : shapes) {
    for (const Shape& to : shapes) {
      if (num_elements(from) != num_elements(to)) continue;
      const TensorType x{DType::kFloat32, from};
      const TensorType y{DType::kFloat32, to};
      const std::string text = reshape_rule(from, to);
      INFO(text);
      const DimRule parsed = parse_rule(text, {&x, 1}, y);
      ++count;
      // What may be sharded stands on both sides, with the same elements before and after it.
      for (std::size_t f = 0; f < parsed.factors.size(); ++f) {
        const auto id = static_cast<int>(f);
        const bool both =
            DimRule::contains(parsed.inputs[0], id) && DimRule::contains(parsed.output, id);
        CHECK((both || parsed.factors[f].whole));
      }
    }
  }
  CHECK(count > 1000);
}

TEST_CASE("rules as text") {
  using Integers = std::vector<std::int64_t>;
  const Attrs axis1{{"axis", std::int64_t{1}}};
  CHECK(rule(ops::kSoftmax, {{2, 3, 4}}, axis1) == "a [b] c -> a [b] c");
  CHECK(rule(ops::kSparsemax, {{2, 3}}, axis1) == "a [b] -> a [b]");
  CHECK(rule(ops::kArgMax, {{2, 3, 4}}, axis1) == "a [b] c -> a c");
  CHECK(rule(ops::kArgMax, {{3}}, {{"axis", std::int64_t{0}}}) == "[a] ->");
  CHECK(rule(ops::kTranspose, {{2, 3, 4}}, {{"perm", Integers{2, 0, 1}}}) == "a b c -> c a b");
  CHECK(rule(ops::kReduceSum, {{2, 3, 4}}, {{"axes", Integers{1}}, {"keepdims", false}}) ==
        "a b c -> a c");
  CHECK(rule(ops::kReduceMax, {{2, 3, 4}}, {{"axes", Integers{1}}, {"keepdims", true}}) ==
        "a b c -> a 1 c");
  CHECK(rule(ops::kSlice, {{2, 3, 4}},
             {{"axis", std::int64_t{1}}, {"start", std::int64_t{0}}, {"size", std::int64_t{2}}}) ==
        "a [b] c -> a [d] c");
  CHECK(rule(ops::kConcatenate, {{2, 3}, {2, 5}}, axis1) == "a [c], a [d] -> a [b]");
  CHECK(rule(ops::kOneHot, {{2, 3}}, {{"depth", std::int64_t{5}}}) == "a b -> a b c");
  CHECK(rule(ops::kTakeAlongAxis, {{2, 3, 4}, {2, 3}}) == "a b c, a b -> a b");
  CHECK(rule(ops::kEmbedding, {{9, 4}, {2, 3}}) == "d c, a b -> a b c");
  CHECK(rule(ops::kEmbeddingGradient, {{2, 3, 4}, {2, 3}}, {{"rows", std::int64_t{9}}}) ==
        "a b c, a b -> d c");
  CHECK(rule(ops::kConstant, {},
             {{"value", 0.0}, {"dtype", std::string("float32")}, {"shape", Shape{2, 3}}}) ==
        "-> a b");
  CHECK(rule(ops::kOrthogonal, {},
             {{"key", std::int64_t{0}}, {"gain", 1.0}, {"shape", Shape{2, 3}}}) == " -> [a] [b]");
  CHECK(rule(ops::kAllReduce, {{2, 3}}, {}) == "[a] [b] -> [c] [d]");
}

TEST_CASE("shapes that do not fit are errors with both shapes") {
  CHECK(infer_error(ops::kAdd, {{3, 4}, {3}}) ==
        "cannot combine shapes [3, 4] and [3]: dimension 1 is 4 and 3");
  CHECK(infer_error(ops::kReshape, {{2, 3}}, {{"shape", Shape{4}}}) ==
        "cannot reshape [2, 3] to [4]: 6 elements are not 4");
  CHECK(infer_error(ops::kReshape, {{2, 3}}, {{"shape", Shape{-2, -3}}}) ==
        "cannot reshape [2, 3] to [-2, -3]");
  CHECK(infer_error(ops::kBroadcastTo, {{2, 3}}, {{"shape", Shape{3}}}) ==
        "cannot broadcast [2, 3] to [3]");
  CHECK(infer_error(ops::kBroadcastTo, {{2, 3}}, {{"shape", Shape{4, 3}}}) ==
        "cannot broadcast [2, 3] to [4, 3]");
  CHECK(infer_error(ops::kConcatenate, {{2, 3}, {3, 3}}, {{"axis", std::int64_t{1}}}) ==
        "cannot concatenate [2, 3] and [3, 3] along dimension 1");
  CHECK(infer_error(ops::kConcatenate, {{2, 3}, {2}}, {{"axis", std::int64_t{0}}}) ==
        "cannot concatenate [2, 3] and [2] along dimension 0");
  CHECK(
      infer_error(ops::kEinsum, {{3, 4}, {5, 6}}, {{"equation", std::string("m k, k n -> m n")}}) ==
      "cannot multiply [3, 4] by [5, 6] as 'm k, k n -> m n': 'k' is 4 and 5");
  CHECK(infer_error(ops::kTakeAlongAxis, {{3, 4}, {4}}) ==
        "cannot take from [3, 4] at [4]: the indices need all its dimensions but the last");
  CHECK(infer_error(
            ops::kSlice, {{3, 4}},
            {{"axis", std::int64_t{1}}, {"start", std::int64_t{3}}, {"size", std::int64_t{2}}}) ==
        "cannot take 2 elements from 3 on of dimension 1 of [3, 4]");
  CHECK(infer_error(ops::kOrthogonal, {},
                    {{"key", std::int64_t{0}}, {"gain", 1.0}, {"shape", Shape{3}}}) ==
        "an orthogonal matrix has two or more dimensions, not those of [3]");
  CHECK(infer_error(ops::kIdentityMatrix, {}, {{"gain", 1.0}, {"shape", Shape{3}}}) ==
        "an identity matrix has two dimensions, not those of [3]");
}

TEST_CASE("an error in a layer begins with its path") {
  Graph graph;
  GraphBuilder b(graph);
  const PathScope scope(b, "d1");
  const ValueId x = input(b, {3, 4});
  const ValueId y = input(b, {5});
  CHECK_THROWS_WITH_AS(ops::add(b, x, y),
                       "d1: cannot combine shapes [3, 4] and [5]: dimension 1 is 4 and 5", Error);
}

TEST_CASE("an einsum in which a factor stands alone is refused") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = input(b, {3, 4});
  const ValueId w = input(b, {4});
  CHECK_THROWS_WITH(ops::einsum(b, x, w, "m k, k -> "), doctest::Contains("'m' stands only in"));
}

TEST_CASE("a sparse einsum is one of rows, of rows of experts and of kernels of experts") {
  const auto failure = [](const std::string& equation, const std::string& chosen) {
    try {
      sparse_roles({{"equation", equation}, {"chosen", chosen}});
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(failure("b t h, e m h -> b t e m", "b t e") == "");
  for (const std::string equation :
       {"t h, h m -> t m", "t h, h e m -> t e m", "h t, e h m -> t e m", "t h, e h m -> e t m",
        "t h, e k m -> t e m", "t e h, e h m -> t e m", "t h, e h m k -> t e m"}) {
    CHECK_MESSAGE(failure(equation, "t e").find(equation) != std::string::npos, equation);
  }
  CHECK(failure("t h, e h m -> t e m", "e").find("has no rows and experts") != std::string::npos);
}

TEST_CASE("spelling leaves out what changes nothing") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = input(b, {2, 3});
  CHECK(ops::reshape(b, x, {2, 3}) == x);
  CHECK(ops::broadcast_to(b, x, {2, 3}) == x);
  CHECK(ops::transpose(b, x, {0, 1}) == x);
  CHECK(ops::cast(b, x, DType::kFloat32) == x);
  CHECK(ops::reduce_sum(b, x, {}, false) == x);
  CHECK(ops::sum_to(b, x, {2, 3}) == x);
  CHECK(graph.nodes.size() == 1);
  CHECK(ops::constant(b, 2.0) == ops::constant(b, 2.0));
}

TEST_CASE("sum_to and zeros_like") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = input(b, {2, 3, 4});
  CHECK(b.shape(ops::sum_to(b, x, {})) == Shape{});
  CHECK(b.shape(ops::sum_to(b, x, {4})) == Shape{4});
  CHECK(b.shape(ops::sum_to(b, x, {3, 1})) == Shape{3, 1});
  CHECK(b.shape(ops::sum_to(b, x, {1, 3, 4})) == Shape{1, 3, 4});
  const ValueId index = input(b, TensorType{DType::kInt32, {5}});
  CHECK(b.type(ops::zeros_like(b, index)) == TensorType{DType::kInt32, {5}});
}

TEST_CASE("flops count the work of the whole node") {
  CHECK(flops(ops::kEinsum, {{3, 4}, {4, 5}}, {{"equation", std::string("m k, k n -> m n")}}) ==
        2 * 3 * 4 * 5);
  CHECK(flops(ops::kEinsum, {{2, 3, 4}, {2, 3, 5}},
              {{"equation", std::string("a b k, a b n -> k n")}}) == 2 * 2 * 3 * 4 * 5);
  const Attrs sparse{{"equation", std::string("t h, e h m -> t e m")},
                     {"chosen", std::string("t e")},
                     {"of_row", std::int64_t{2}}};
  CHECK(flops(ops::kSparseEinsum, {{3, 4}, {5, 4, 6}, {3, 5}}, sparse) == 2 * 3 * 2 * 4 * 6);
  CHECK(flops(ops::kReduceSum, {{3, 4}},
              {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", false}}) == 12);
  CHECK(flops(ops::kReshape, {{3, 4}}, {{"shape", Shape{12}}}) == 0);
  // Two products of 8 queries of 4 numbers with 8 keys, as many as each sees on average.
  AttentionOptions attention;
  const std::vector<Shape> heads{{1, 8, 1, 1, 4}, {1, 8, 1, 4}, {1, 8, 1, 4}};
  const auto seen = [&] { return flops(ops::kAttention, heads, attention_attrs(attention)); };
  CHECK(seen() == 2 * 2 * 8 * 4 * 8);
  attention.causal = true;
  CHECK(seen() == 2 * 2 * 8 * 4 * 4);
  attention.window = 4;
  CHECK(seen() == 2 * 2 * 8 * 4 * 3);
  attention.causal = false;
  CHECK(seen() == 2 * 2 * 8 * 4 * 6);
  Graph graph;
  GraphBuilder b(graph);
  const ValueId sum = ops::add(b, input(b, {3, 4}), input(b, {4}));
  CHECK(flops_of(graph, graph.node(sum)) == 12);  // one for each element where the op says nothing
}

TEST_CASE("what partial sums may pass") {
  for (const OpDef* op :
       {&ops::kAdd, &ops::kSubtract, &ops::kNegate, &ops::kReshape, &ops::kTranspose, &ops::kSlice,
        &ops::kConcatenate, &ops::kBroadcastTo, &ops::kReduceSum}) {
    INFO(op->name);
    CHECK(op->linear == Linear::kJointly);
  }
  CHECK(ops::kMultiply.linear == Linear::kEach);
  CHECK(ops::kEinsum.linear == Linear::kEach);
  CHECK(ops::kDivide.linear == Linear::kFirst);
  CHECK(ops::kTakeAlongAxis.linear == Linear::kFirst);
  CHECK(ops::kEmbedding.linear == Linear::kFirst);
  CHECK(ops::kEmbeddingGradient.linear == Linear::kFirst);
  CHECK(ops::kReduceMax.linear == Linear::kNo);
  CHECK(ops::kReduceMax.reduction == Reduction::kMax);
}

TEST_CASE("gradients of a product of bfloat16 that is float32 are bfloat16") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = input(b, TensorType{DType::kBFloat16, {2, 3}});
  const ValueId w = input(b, TensorType{DType::kBFloat16, {3, 4}});
  const ValueId y =
      b.add(ops::kEinsum, {x, w}, {{"equation", "m k, k n -> m n"}, {"dtype", "float32"}});
  const ValueId dy = input(b, b.type(y));
  const std::vector<ValueId> gradients = ops::kEinsum.grad(b, y, dy);
  CHECK(b.type(y).dtype == DType::kFloat32);
  CHECK(b.type(gradients[0]) == b.type(x));
  CHECK(b.type(gradients[1]) == b.type(w));
}
