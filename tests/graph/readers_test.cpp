#include "graph/readers.h"

#include <doctest/doctest.h>

#include "graph/builder.h"

using namespace meshwork;

namespace {

const OpDef kLeaf{
    .name = "leaf",
    .infer =
        [](const OpArgs&) {
          return TensorType{DType::kFloat32, {}};
        },
};
const OpDef kSum{
    .name = "sum",
    .infer = [](const OpArgs& args) { return args.inputs[0]; },
};

}  // namespace

TEST_CASE("a value is read by nodes, updates and outputs, and not by names") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.add(kLeaf, {}, {});
  const ValueId twice = b.add(kSum, {x, x}, {});
  const ValueId y = b.add(kSum, {twice, x}, {});
  graph.updates.push_back({x, y});
  graph.outputs.push_back({"twice", twice});
  graph.gradients.push_back({x, y});
  graph.layer_outputs.push_back({"y/output", y});
  const Readers readers(graph);

  CHECK(readers.nodes(x) == std::vector<ValueId>{twice, twice, y});
  CHECK(readers.count(x) == 3);
  CHECK(readers.are_nodes(x));
  CHECK(readers.only_node(x) == kNoValue);

  CHECK(readers.nodes(twice) == std::vector<ValueId>{y});
  CHECK(readers.count(twice) == 2);
  CHECK_FALSE(readers.are_nodes(twice));
  CHECK(readers.only_node(twice) == kNoValue);

  CHECK(readers.nodes(y).empty());
  CHECK(readers.count(y) == 1);
  CHECK_FALSE(readers.are_nodes(y));

  graph.outputs.clear();
  CHECK(readers.count(twice) == 2);
  CHECK(Readers(graph).only_node(twice) == y);
}
