#include "graph/text.h"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/op_def.h"
#include "support/text/parse.h"

using namespace meshwork;
using meshwork::testing::parse;

namespace {

const OpDef kLeaf{
    .name = "leaf",
    .infer =
        [](const OpArgs& args) {
          return TensorType{dtype_from_string(args.attrs.text("dtype")),
                            args.attrs.integers("shape")};
        },
};
const OpDef kTwice{.name = "twice", .infer = [](const OpArgs& args) { return args.inputs[0]; }};

const OpDef kSent{.name = "sent",
                  .infer = [](const OpArgs& args) { return args.inputs[0]; },
                  .collective = Collective::kAllToAll};

const OpDef* lookup(std::string_view name) {
  for (const OpDef* op : {&kLeaf, &kTwice, &kSent}) {
    if (op->name == name) return op;
  }
  return nullptr;
}

Attrs leaf(const std::string& dtype, Shape shape) {
  return {{"dtype", dtype}, {"shape", std::move(shape)}};
}

/// A program with everything that a program may have.
Graph full() {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.add(kLeaf, {}, leaf("float32", {2, 3}));
  b.set_path("d1");
  const ValueId y = b.add(kTwice, {x},
                          {{"flag", true},
                           {"count", std::int64_t{-7}},
                           {"rate", 3.0},
                           {"text", std::string("m k, k n -> m n")},
                           {"axes", std::vector<std::int64_t>{}}});
  b.set_phase(Phase::kBackward);
  b.set_path("block_3/attention");
  const ValueId z = b.add(kTwice, {y}, {{"axes", std::vector<std::int64_t>{1, -2}}});
  b.set_phase(Phase::kUpdate);
  b.set_path("");
  b.add(kLeaf, {}, leaf("int64", {}));
  graph.variables.push_back({x, "d1/kernel", true, "", &kLeaf, leaf("float32", {2, 3})});
  graph.variables.push_back({y, "adam/d1/kernel/m", false, "d1/kernel", &kTwice, {}});
  graph.variables.push_back({y, "bare", false, "", nullptr, {}});
  graph.updates.push_back({x, z});
  graph.gradients.push_back({x, y});
  graph.node(z).gradient_of = y;
  graph.controls.push_back({y, z});
  graph.outputs.push_back({"loss", z});
  graph.layer_outputs.push_back({"d1/output", y});
  return graph;
}

void check_equal(const Graph& a, const Graph& b) {
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    CHECK(a.nodes[i].op == b.nodes[i].op);
    CHECK(a.nodes[i].inputs == b.nodes[i].inputs);
    CHECK(a.nodes[i].attrs == b.nodes[i].attrs);
    CHECK(a.nodes[i].type == b.nodes[i].type);
    CHECK(a.nodes[i].path == b.nodes[i].path);
    CHECK(a.nodes[i].phase == b.nodes[i].phase);
    CHECK(a.nodes[i].gradient_of == b.nodes[i].gradient_of);
    CHECK(a.nodes[i].collective == b.nodes[i].collective);
  }
  REQUIRE(a.variables.size() == b.variables.size());
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    CHECK(a.variables[i].value == b.variables[i].value);
    CHECK(a.variables[i].path == b.variables[i].path);
    CHECK(a.variables[i].trainable == b.variables[i].trainable);
    CHECK(a.variables[i].slot_of == b.variables[i].slot_of);
    CHECK(a.variables[i].init == b.variables[i].init);
    CHECK(a.variables[i].init_attrs == b.variables[i].init_attrs);
    CHECK(a.variables[i].ones == b.variables[i].ones);
  }
  CHECK(a.regions == b.regions);
  CHECK(a.updates.size() == b.updates.size());
  CHECK(a.gradients.size() == b.gradients.size());
  CHECK(a.outputs.size() == b.outputs.size());
  CHECK(a.layer_outputs.size() == b.layer_outputs.size());
  CHECK(a.controls.size() == b.controls.size());
}

void check_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  const Graph back = parse(text, lookup);
  check_equal(graph, back);
  CHECK(print(back) == text);
}

std::string parse_error(std::string_view text) {
  try {
    parse(text, lookup);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view kLine = "%0 = leaf() : float32[2]  # forward\n";

std::string after_a_leaf(std::string_view text) {
  return parse_error(std::string(kLine) + std::string(text));
}

}  // namespace

TEST_CASE("the text form") {
  CHECK(print(full()) ==
        R"(%0 = leaf() {dtype="float32", shape=[2, 3]} : float32[2, 3]  # forward
%1 = twice(%0) {flag=true, count=-7, rate=3.0, text="m k, k n -> m n", axes=[]} : float32[2, 3]  # d1 forward
%2 = twice(%1) {axes=[1, -2]} : float32[2, 3]  # block_3/attention backward (of %1)
%3 = leaf() {dtype="int64", shape=[]} : int64[]  # update
variable %0 "d1/kernel" trainable init leaf {dtype="float32", shape=[2, 3]}
variable %1 "adam/d1/kernel/m" slot_of "d1/kernel" init twice
variable %1 "bare"
update %0 = %2
gradient %0 = %1
output "loss" = %2
layer_output "d1/output" = %1
control %1 before %2
)");
  check_round_trip(full());
  check_round_trip(Graph{});
}

TEST_CASE("regions of a local program") {
  Graph graph = full();
  for (const Node& node : graph.nodes) graph.regions.push_back(whole_region(node.type.shape));
  graph.regions[1] = {{8, 3}, {6, 0}};
  CHECK(print(graph).find("float32[2, 3] of [8, 3] at [6, 0]  # d1 forward") != std::string::npos);
  check_round_trip(graph);
}

TEST_CASE("what a collective sends") {
  Graph graph = full();
  graph.nodes.append({.op = &kSent,
                      .inputs = {0},
                      .attrs = {},
                      .type = graph.type(0),
                      .path = {},
                      .collective = CollectiveArgs{.axes = {1},
                                                   .members = {2, 3},
                                                   .own = 1,
                                                   .counts = {4, 2},
                                                   .recv_counts = {2, 4},
                                                   .most_elements = 6}});
  CHECK(print(graph).find("sent(%0) {axes=[1], members=[2, 3], own=1, counts=[4, 2], "
                          "recv_counts=[2, 4]} : float32[2, 3]") != std::string::npos);
  check_round_trip(graph);
}

TEST_CASE("values may be renamed, and names go with them") {
  const Graph graph = full();
  const std::vector<ValueId> order{0, 1, 3, 2};
  const Graph other = in_order(graph, order);
  CHECK(other.updates[0].value == 3);
  CHECK(other.outputs[0].value == 3);
  CHECK(other.gradients[0].value == 1);
  CHECK(other.controls[0].after == 3);
  CHECK(other.node(3).gradient_of == 1);
  CHECK(print(in_order(other, order)) == print(graph));
  // Edges and names of layers go with values that are left out.
  const std::vector<ValueId> some{0, 3};
  Graph leaves = graph;
  leaves.updates.clear();
  leaves.outputs.clear();
  leaves.variables.resize(1);
  const Graph few = in_order(leaves, some);
  CHECK(few.nodes.size() == 2);
  CHECK((few.gradients.empty() && few.layer_outputs.empty() && few.controls.empty()));
}

TEST_CASE("awkward texts and numbers come back") {
  Graph graph = full();
  graph.nodes[1].path = "a layer; # \"quoted\"";
  graph.nodes[2].path = "forward";
  graph.variables[0].path = "back\\slash\nand line\x01";
  graph.outputs[0].name = "";
  for (const double value :
       {0.1, -0.0, 1e300, 5e-324, 1.0, 1e20, 1.0 / 3, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    graph.nodes[1].attrs.set("rate", value);
    check_round_trip(graph);
  }
  graph.nodes[1].attrs.set("count", std::numeric_limits<std::int64_t>::min());
  check_round_trip(graph);
  graph.nodes[1].attrs.set("rate", std::numeric_limits<double>::quiet_NaN());
  CHECK(print(parse(print(graph), lookup)) == print(graph));
}

TEST_CASE("annotations are printed and passed over") {
  const Graph graph = full();
  const std::string text = print(graph, [](ValueId id) {
    return id == 1 ? std::string("[data, model] partial(x); # forward") : std::string();
  });
  CHECK(text.find("# d1 forward  ; [data, model] partial(x); # forward\n") != std::string::npos);
  CHECK(print(parse(text, lookup)) == print(graph));
}

TEST_CASE("blank lines, comments and loose spaces") {
  const Graph graph =
      parse("# a program\n\n  %0=leaf( ) {a=1,b=2.5} :  float32[ 2 ]  # d1   forward\r\n", lookup);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].attrs.integer("a") == 1);
  CHECK(graph.nodes[0].path == "d1");
  CHECK(parse(kLine.substr(0, kLine.size() - 1), lookup).nodes.size() == 1);
}

TEST_CASE("what cannot be read is an error with its line") {
  CHECK(parse_error("\n\n%0 = foo() : float32[]  # forward") == "line 3: unknown op 'foo'");
  CHECK(parse_error("%1 = leaf() : float32[]  # forward") == "line 1: %1 where %0 comes next");
  CHECK(parse_error("%0 = leaf() : float8[]  # forward") ==
        "line 1: unknown dtype 'float8'; known: float32, int32, int64, uint8, bfloat16, int8, "
        "uint16, int16, uint32, uint64, float16, float64");
  CHECK(parse_error("%0 = leaf() : float32[-1]  # forward") == "line 1: extent -1 in shape [-1]");
  CHECK(parse_error("%0 = leaf() : float32[]") == "line 1: '#' expected at the end of the line");
  CHECK(parse_error("%0 = leaf() : float32[]  # sideways") ==
        "line 1: unknown phase 'sideways'; known: forward, backward, update, recompute");
  CHECK(parse_error("%0 = leaf() {a=} : float32[]  # forward") ==
        "line 1: a value expected before '} : float32[]  # forward'");
  CHECK(parse_error("%0 = leaf() {a=1, a=2} : float32[]  # forward") ==
        "line 1: attribute 'a' stands twice");
  CHECK(parse_error("%0 = leaf() {a=99999999999999999999} : float32[]  # forward") ==
        "line 1: a 64-bit integer expected before '99999999999999999999} : float32[]  # forward'");
  CHECK(parse_error("%0 = leaf() {a=\"b") == "line 1: '\"' expected at the end of the line");
  CHECK(parse_error("%0 = leaf() {a=\"\\q\"}") ==
        "line 1: an escaped character expected before 'q\"}'");
  CHECK(parse_error("nonsense") == "line 1: '%' expected before 'nonsense'");
  CHECK(after_a_leaf("%1 = twice(%1) : float32[2]  # forward") ==
        "line 2: %1 is not there yet; 1 values stand above");
  CHECK(after_a_leaf("%1 = twice(%0 %0) : float32[2]  # forward") ==
        "line 2: ')' expected before '%0) : float32[2]  # forward'");
  CHECK(after_a_leaf("update %0 = %9") == "line 2: %9 is not there yet; 1 values stand above");
  CHECK(after_a_leaf("output loss = %0") == "line 2: a text in quotes expected before 'loss = %0'");
  CHECK(after_a_leaf("output \"loss\" = %0 %0") == "line 2: nothing more expected on this line");
  CHECK(after_a_leaf("outputs \"loss\" = %0") ==
        "line 2: '%' expected before 'outputs \"loss\" = %0'");
  CHECK(after_a_leaf("variable %0 \"x\" init foo") == "line 2: unknown op 'foo'");
  CHECK(after_a_leaf("%1 = leaf() : float32[2] of [4] at [2]  # forward") ==
        "line 2: a region, but the values above have none");
  CHECK(parse_error("%0 = leaf() : float32[2] of [4] at []  # forward") ==
        "line 1: the region [4] at [] is not for [2]");
  CHECK(parse_error("%0 = leaf() : float32[2] of [4] at [2]  # forward\n"
                    "%1 = leaf() : float32[2]  # forward") ==
        "line 2: no region, but the values above have one");
}
