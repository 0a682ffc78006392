#include "model/scope.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

Initializer zeros() { return read_initializer("zeros"); }

/// A layer whose state counts its uses.
ValueId count_uses(Scope& scope) {
  const PathScope path(scope.builder(), "counter");
  const ValueId state = scope.non_trainable("count", {2}, zeros());
  const ValueId next = ops::shift(scope.builder(), state, 1.0);
  scope.update(state, next);
  return state;
}

}  // namespace

TEST_CASE("state is a variable that is not trained and is updated while training") {
  for (const bool training : {true, false}) {
    Graph graph;
    GraphBuilder b(graph);
    Scope scope(b, 1, training);
    const ValueId state = count_uses(scope);
    verify(graph);
    REQUIRE(graph.variables.size() == 1);
    CHECK(graph.variables[0].path == "counter/count");
    CHECK(graph.variables[0].value == state);
    CHECK_FALSE(graph.variables[0].trainable);
    CHECK(graph.variables[0].slot_of.empty());
    CHECK(graph.updates.size() == (training ? 1 : 0));
  }
}

TEST_CASE("a layer that is used twice updates its state twice in a step, one after the other") {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, 1, true);
  const ValueId first = count_uses(scope);
  const ValueId second = count_uses(scope);
  REQUIRE(graph.variables.size() == 1);
  REQUIRE(graph.updates.size() == 1);
  CHECK(graph.updates[0].variable == first);
  CHECK(graph.node(second).inputs[0] == first);
  CHECK(graph.node(graph.updates[0].value).inputs[0] == second);
}

TEST_CASE("variables of a layer that is not trainable are not trained") {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, 1, true);
  CHECK(scope.trainable());
  scope.enter_layer({.trainable = false});
  const PathScope path(b, "d");
  scope.variable("kernel", {2, 3}, zeros());
  CHECK_FALSE(graph.variables[0].trainable);
}

TEST_CASE("a variable that is used for two shapes is an error") {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, 1, true);
  scope.enter_layer({.at = {"c.yaml", 7, 5}});
  const PathScope path(b, "d");
  CHECK(scope.variable("kernel", {2, 3}, zeros()) == scope.variable("kernel", {2, 3}, zeros()));
  CHECK(graph.variables.size() == 1);
  CHECK_THROWS_WITH_AS(scope.variable("kernel", {4, 3}, zeros()),
                       "c.yaml:7:5: 'd/kernel' is [2, 3], but would have to be [4, 3] for this use "
                       "of the layer; give all its uses inputs of one shape",
                       Error);
}

TEST_CASE("a variable that arguments leave out is kept by its path, and why it is not there") {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, 1, true);
  const PathScope path(b, "block/d1");
  CHECK(scope.optional_variable(true, "use_bias: false", "kernel", {2}, zeros()) != kNoValue);
  CHECK(scope.optional_variable(false, "use_bias: false", "bias", {2}, zeros()) == kNoValue);
  CHECK(graph.variables.size() == 1);
  CHECK(scope.absent() == std::map<std::string, std::string>{{"block/d1/bias", "use_bias: false"}});
}
