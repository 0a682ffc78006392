#include "model/prediction.h"

#include "ops/ops.h"

namespace meshwork {

const Node* source_of_probabilities(const Graph& graph, ValueId value) {
  const Node* node = &graph.node(value);
  while (node->op == &ops::kCast || node->op == &ops::kReshape) node = &graph.node(node->inputs[0]);
  for (const OpDef* op : {&ops::kSoftmax, &ops::kSparsemax, &ops::kSigmoid}) {
    if (node->op == op) return node;
  }
  return nullptr;
}

}  // namespace meshwork
