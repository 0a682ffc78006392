#pragma once

#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interchange/from_keras/layer.h"

namespace meshwork::from_keras {

/// An output of a call of a layer: Keras's history of a tensor.
struct Tensor {
  std::string layer;
  int node = 0;   ///< which call of it
  int index = 0;  ///< of its outputs
  auto operator<=>(const Tensor&) const = default;
};

/// A call of a layer.
struct Node {
  std::string layer;
  int number = 0;
  std::vector<Tensor> inputs;
  Call call;              ///< the names of its inputs still to be said
  std::string mask = {};  ///< the layer whose output is its mask
};

/// The graph of calls that a Sequential or Functional model is, without those that make nothing but
/// masks: these come along by themselves.
struct Network {
  std::map<std::string, Json> layers;  ///< by name
  std::vector<Node> nodes;             ///< in the order of the file
  std::vector<Tensor> inputs;
  std::vector<std::pair<std::string, Tensor>> outputs;  ///< with the name that the model gives it
};

/// Whether the object is a model that holds layers.
bool is_model(const Json& object);

Network read_network(const Json& model);

/// The calls, each behind those whose outputs it takes, else in the order of the file.
std::vector<const Node*> in_order(const Network& network);

}  // namespace meshwork::from_keras
