#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "model/scope.h"

namespace meshwork {

/// A named input of the model as layers see it: float32, [batch, shape..].
struct ModelInput {
  std::string name;
  ValueId value = kNoValue;
  config::Location at;
};

/// The inputs of the program and what the model makes of them.
std::vector<ModelInput> add_inputs(GraphBuilder& b, const config::ModelSpec& model,
                                   const Signature& signature, std::int64_t batch);

/// Builds the layers in order, records the output of each, and gives that of the last.
ValueId add_layers(Scope& scope, const config::ModelSpec& model,
                   const std::vector<ModelInput>& inputs);

}  // namespace meshwork
