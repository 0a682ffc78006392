#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/prediction.h"
#include "model/scope.h"

namespace meshwork {

/// A named input of the model as layers see it: [batch, shape..].
struct ModelInput {
  std::string name;
  ValueId value = kNoValue;
};

/// The inputs of the program and what the model makes of them. Fields called as one of `labels` go
/// to an input only by its name.
std::vector<ModelInput> add_inputs(GraphBuilder& b, const config::ModelSpec& model,
                                   const Signature& signature,
                                   const std::vector<std::string>& labels, std::int64_t batch);

/// Builds the layers in order and records the output of each; gives those of the model.
/// `precision` is that of layers that do not say otherwise. An Error about a layer in a block ends
/// with the places where the block is used. `notes` is told where a mask ends.
std::vector<Prediction> add_layers(Scope& scope, const config::ModelSpec& model,
                                   config::Precision precision,
                                   const std::vector<ModelInput>& inputs,
                                   std::vector<std::string>* notes = nullptr);

}  // namespace meshwork
