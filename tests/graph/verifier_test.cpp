#include "graph/verifier.h"

#include <doctest/doctest.h>

#include "base/check.h"
#include "graph/builder.h"

using namespace meshwork;

namespace {

const OpDef kLeaf{
    .name = "leaf",
    .infer =
        [](const OpArgs& args) {
          return TensorType{DType::kFloat32, args.attrs.integers("shape")};
        },
};
const OpDef kTwice{
    .name = "twice",
    .infer = [](const OpArgs& args) { return args.inputs[0]; },
    .rule = [](const OpArgs& /*args*/) { return std::string("a -> a"); },
};

/// z = 2 y, y = 2 x, of 8 elements.
Graph program() {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.add(kLeaf, {}, {{"shape", Shape{8}}});
  b.add(kTwice, {b.add(kTwice, {x}, {})}, {});
  return graph;
}

}  // namespace

TEST_CASE("a node that is like one before is still checked") {
  Graph graph = program();
  Verifier verifier;
  verifier.verify(graph);
  verifier.verify(graph);
  graph.node(2).type.shape = {7};
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
  graph.node(2).type = {DType::kInt32, {8}};
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
  graph.node(2).type.dtype = DType::kFloat32;
  verifier.verify(graph);
  graph.node(0).attrs.set("shape", Shape{9});
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
  for (const ValueId id : graph.ids()) graph.node(id).type.shape = {9};
  verifier.verify(graph);
  graph.node(1).op = &kLeaf;
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
}

TEST_CASE("parts of values are checked wherever they stand") {
  Graph graph = program();
  for (const ValueId id : graph.ids()) {
    graph.node(id).type.shape = {3};
    graph.regions.push_back({{8}, {5}});
  }
  graph.node(0).attrs.set("shape", Shape{3});
  Verifier verifier;
  verifier.verify(graph);
  graph.node(2).type.shape = {2};
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
  graph.node(2).type.shape = {3};
  verifier.verify(graph);
  graph.regions[2].offset = {6};
  CHECK_THROWS_AS(verifier.verify(graph), CheckFailure);
}
