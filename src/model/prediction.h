#pragma once

#include "graph/graph.h"

namespace meshwork {

/// An output of the model.
struct Prediction {
  ValueId value = kNoValue;  ///< float32
  ValueId mask = kNoValue;   ///< as Scope::mask(): which positions losses and metrics count
};

/// The op whose probabilities a value is, perhaps cast and reshaped: softmax, sparsemax or sigmoid.
/// nullptr if it may be anything.
const Node* source_of_probabilities(const Graph& graph, ValueId value);

}  // namespace meshwork
