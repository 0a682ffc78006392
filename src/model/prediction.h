#pragma once

#include "graph/graph.h"

namespace meshwork {

/// An output of the model.
struct Prediction {
  ValueId value = kNoValue;  ///< float32
  ValueId mask = kNoValue;   ///< as Scope::mask(): which positions losses and metrics count
};

}  // namespace meshwork
