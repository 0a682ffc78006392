#include <doctest/doctest.h>

#include <cmath>

#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

/// `args` in flow style, for samples of `input`.
Graph build_layer(const std::string& input, const std::string& args) {
  return build("model: {input: " + input + ", layers: [EinsumDense: {name: e, " + args + "}]}");
}

std::string error_of(const std::string& input, const std::string& args) {
  return build_error("model:\n  input: " + input + "\n  layers:\n    - EinsumDense: {" + args +
                     "}\n");
}

std::string equation_of(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == &ops::kEinsum) return node.attrs.text("equation");
  }
  return {};
}

}  // namespace

TEST_CASE("EinsumDense has a kernel and a bias as its equation says") {
  const Graph graph =
      build_layer("[7, 6]", "equation: 'abc,cde->abde', output_shape: [null, 2, 3], bias_axes: de");
  REQUIRE(variable_paths(graph) == std::vector<std::string>{"e/kernel", "e/bias"});
  CHECK(graph.type(graph.variables[0].value).shape == Shape{6, 2, 3});
  CHECK(graph.type(graph.variables[1].value).shape == Shape{2, 3});
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 7, 2, 3});
  CHECK(equation_of(graph) == "a b c, c d e -> a b d e");
}

TEST_CASE("dots of EinsumDense stand for all other dimensions") {
  const Graph first = build_layer("[7, 5, 6]", "equation: '...x, xy -> ...y', output_shape: 3");
  CHECK(equation_of(first) == "e1 e2 e3 x, x y -> e1 e2 e3 y");
  CHECK(variable_paths(first) == std::vector<std::string>{"e/kernel"});
  const Graph last =
      build_layer("[6, 5, 7]", "equation: 'ab...,bc->ac...', output_shape: 3, bias_axes: c");
  CHECK(equation_of(last) == "a b e1 e2, b c -> a c e1 e2");
  CHECK(last.type(last.variables[1].value).shape == Shape{3, 1, 1});
}

TEST_CASE("the limits of an EinsumDense's first kernel follow its equation") {
  const auto limit = [](const Graph& graph) { return graph.variables[0].init_attrs.real("high"); };
  CHECK(limit(build_layer("[7, 6]", "equation: 'abc,cde->abde', output_shape: [7, 2, 3]")) ==
        doctest::Approx(std::sqrt(6.0 / (6 + 2 * 3))));
  CHECK(limit(build_layer("[7, 2, 3]", "equation: 'abcd,cde->abe', output_shape: [7, 5]")) ==
        doctest::Approx(std::sqrt(6.0 / (2 * 3 + 5))));
}

TEST_CASE("an equation that cannot be says why") {
  const auto of = [](const std::string& equation) {
    return error_of("[7, 6]", "equation: '" + equation + "', output_shape: [7, 2]");
  };
  const auto unknown = [](const std::string& equation) {
    return "c.yaml:4:31: equation '" + equation +
           "' is not known; write it as ab,bc->ac, ...b,bc->...c or ab...,bc->ac..., with each "
           "letter once in each part";
  };
  for (const char* equation : {"", "abc", "abc,cd", "abc,cd->", "abc,cc->abc", "a.c,cd->abd",
                               "...c,cd->abd", "...c,...d->...d", "...bc...,cd->...bd...",
                               "abc,cd->abd,", "ab1,1d->abd", "abc,cd->ab d->x"}) {
    CHECK(of(equation) == unknown(equation));
  }
  const std::string place = "c.yaml:4:31: layer 'einsum_dense' (EinsumDense): equation ";
  CHECK(of("ab,bc->ac") == place +
                               "'ab,bc->ac': its input is [7, 6], which has 3 dimensions with the "
                               "batch, not 2");
  CHECK(of("abc,xd->abd") == place + "'abc,xd->abd': 'x' stands in the kernel alone");
  CHECK(of("abc,c->abd") == place + "'abc,c->abd': 'd' stands in the output alone");
  const std::string batch =
      ": the first dimension of input and output is the batch, and none of the kernel";
  CHECK(of("abc,cd->bad") == place + "'abc,cd->bad'" + batch);
  CHECK(of("abc,acd->abd") == place + "'abc,acd->abd'" + batch);
}

TEST_CASE("an output_shape and bias_axes that do not fit the equation say why") {
  CHECK(error_of("[7, 6]", "equation: 'abc,cd->abd', output_shape: [2]") ==
        "c.yaml:4:60: output_shape is of rank 1, but a sample of the output of 'abc,cd->abd' is of "
        "rank 2");
  CHECK(
      error_of("[7, 6]", "equation: '...c,cd->...d', output_shape: [7, 2]") ==
      "c.yaml:4:62: output_shape is of rank 2, but a sample of the output of '...c,cd->...d' is of "
      "rank 1 without what ... stands for");
  CHECK(error_of("[7, 6]", "equation: 'abc,cd->abd', output_shape: [8, 2]") ==
        "c.yaml:4:61: output_shape: 'b' of 'abc,cd->abd' is 8; give 7, as the input has");
  CHECK(error_of("[7, 6]", "equation: 'abc,cd->abd', output_shape: [7, 0]") ==
        "c.yaml:4:64: output_shape: 'd' of 'abc,cd->abd' is 0; give 1 or more");
  CHECK(error_of("[7, 6]", "equation: 'abc,cd->abd', output_shape: [7, 2], bias_axes: c") ==
        "c.yaml:4:79: bias_axes 'c': 'c' is no dimension of a sample of the output of "
        "'abc,cd->abd'");
  CHECK(error_of("[7, 6]", "equation: 'abc,cd->abd', output_shape: [7, 2], bias_axes: ad") ==
        "c.yaml:4:79: bias_axes 'ad': 'a' is no dimension of a sample of the output of "
        "'abc,cd->abd'");
}
