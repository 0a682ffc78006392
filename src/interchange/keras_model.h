#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "graph/graph.h"
#include "state/weights_file.h"

namespace meshwork {

/// The program that predicts, for a batch of one.
Graph predicting_program(const config::Config& config);

/// The path of the layer that a variable belongs to.
std::string layer_path(const Graph& graph, const Variable& variable);

/// What layers give beside their outputs, in Keras's order, by name: "state_h".
class FurtherOutputs {
 public:
  explicit FurtherOutputs(const Graph& graph);
  /// Of the layer of this path.
  const std::vector<NamedValue>& of(const std::string& path) const;

 private:
  std::map<std::string, std::vector<NamedValue>> by_path_;  ///< where there are any
};

/// The weights of the model of a predicting program.
std::vector<GlobalTensor> model_weights(const Graph& graph);

/// The model of a configuration as Keras would have it: a block is a model of its own, Sequential
/// where it is a chain of layers, else Functional.
/// `graph`: its predicting program.
KerasModel keras_model(const config::Config& config, const Graph& graph);

/// The same without blocks, its layers called as flat_name() says.
KerasModel flat_keras_model(const config::Config& config, const Graph& graph);

/// The same model as it may be written in Keras: so first; with all blocks Functional; without
/// models in it.
DescribeForKeras keras_models(const config::Config& config);

}  // namespace meshwork
