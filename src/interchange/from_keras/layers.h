#pragma once

#include <map>
#include <string>
#include <vector>

#include "interchange/from_keras/trial.h"

namespace meshwork::from_keras {

/// A list of layers as a configuration has it, of the model or of a block.
struct LayerList {
  std::vector<std::string> inputs;  ///< names
  std::vector<TensorType> types;    ///< of the inputs
  std::vector<std::string> lines;   ///< "Dense: {name: d1, units: 10}"
  std::string last;                 ///< name of the last layer
  std::vector<std::string> outputs;
  std::map<std::string, std::string> output_names;  ///< of those that the model calls otherwise
  std::vector<TensorType> output_types;
};

/// All of a model: its own list, and those of the models in it, which become blocks.
struct Layers {
  LayerList model;
  std::vector<std::pair<std::string, LayerList>> blocks;  ///< inner ones first
};

/// The layers of a Sequential or Functional model. `precision`: its policy.
Layers read_layers(const Json& model, const std::string& file, const std::string& precision);

/// The policy of most of its layers that are of mixed precision; "float32" if none is.
std::string precision_of(const Json& model);

}  // namespace meshwork::from_keras
