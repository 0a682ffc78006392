#include "interchange/from_keras/nodes.h"

#include <set>

#include "base/error.h"
#include "interchange/from_keras/values.h"

namespace meshwork::from_keras {
namespace {

bool is_tensor(const Json& json) {
  return json.is_object() && json.value("class_name", Json()) == "__keras_tensor__";
}

Tensor tensor_at(const Json& place) {
  return {place.at(0).get<std::string>(), static_cast<int>(whole(place.at(1))),
          static_cast<int>(whole(place.at(2)))};
}

Tensor tensor_of(const Json& json) { return tensor_at(json.at("config").at("keras_history")); }

bool are_tensors(const Json& json) {
  return json.is_array() && !json.empty() && is_tensor(json[0]);
}

bool has_tensors(const Json& json) { return is_tensor(json) || are_tensors(json); }

/// An argument of a call: a tensor, a list of them, or no tensor.
void add_argument(const std::string& key, const Json& argument, Node& node) {
  if (is_tensor(argument)) {
    node.inputs.push_back(tensor_of(argument));
    node.call.roles.push_back(key);
  } else if (are_tensors(argument)) {
    for (const Json& one : argument) add_argument(key, one, node);
  } else {
    node.call.numbers.emplace_back(key, argument);
  }
}

Node read_node(const std::string& layer, int number, const Json& json) {
  Node node{layer, number, {}, {}};
  for (const Json& argument : json.at("args")) {
    const bool is_before = node.inputs.empty() && !has_tensors(argument);  // 1 - x
    add_argument(is_before ? "x1" : "", argument, node);
  }
  for (const auto& [key, argument] : json.at("kwargs").items()) {
    if (argument.is_null() || key == "training") continue;
    if (key == "mask") {
      if (is_tensor(argument)) node.mask = tensor_of(argument).layer;
      continue;
    }
    const bool is_main = node.inputs.empty() && has_tensors(argument) &&
                         (key == "inputs" || key == "x" || key == "x1");
    add_argument(is_main ? "" : key, argument, node);
  }
  return node;
}

/// `input_layers` and `output_layers`: one place, a list of them, or a map.
std::vector<std::pair<std::string, Tensor>> read_places(const Json& places) {
  if (places.is_array() && !places.empty() && places[0].is_string()) {
    return {{"", tensor_at(places)}};
  }
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& [key, place] : places.items()) {
    all.emplace_back(places.is_object() ? key : "", tensor_at(place));
  }
  return all;
}

/// Leaves the nodes whose outputs come to those of the model.
void remove_unused(Network& network) {
  std::map<std::pair<std::string, int>, const Node*> nodes;
  for (const Node& node : network.nodes) nodes[{node.layer, node.number}] = &node;
  std::set<const Node*> used;
  std::vector<Tensor> open;
  for (const auto& [name, output] : network.outputs) open.push_back(output);
  while (!open.empty()) {
    const auto node = nodes.find({open.back().layer, open.back().node});
    open.pop_back();
    if (node == nodes.end() || !used.insert(node->second).second) continue;
    open.insert(open.end(), node->second->inputs.begin(), node->second->inputs.end());
  }
  std::vector<Node> kept;
  for (Node& node : network.nodes) {
    if (used.contains(&node)) kept.push_back(std::move(node));
  }
  network.nodes = std::move(kept);
}

Network read_functional(const Json& arguments) {
  Network network;
  for (const Json& layer : arguments.at("layers")) {
    const std::string name = layer.at("name").get<std::string>();
    network.layers[name] = layer;
    int number = 0;
    for (const Json& node : layer.at("inbound_nodes")) {
      network.nodes.push_back(read_node(name, number++, node));
    }
  }
  for (const auto& [key, tensor] : read_places(arguments.at("input_layers"))) {
    network.inputs.push_back(tensor);
  }
  network.outputs = read_places(arguments.at("output_layers"));
  remove_unused(network);
  return network;
}

/// Keras leaves the InputLayer out where the model was built by its first call.
Json input_for(const Json& arguments) {
  const Json shape = arguments.value("build_input_shape", Json());
  if (!shape.is_array()) {
    fail(
        "the model has not been built, so nobody knows the shape of its samples; begin it with "
        "keras.Input((28, 28)), and save it again");
  }
  return {{"class_name", "InputLayer"},
          {"config", {{"name", "input"}, {"batch_shape", shape}, {"dtype", "float32"}}}};
}

Network read_sequential(const Json& arguments) {
  Network network;
  Tensor last;
  const auto add = [&](const Json& layer) {
    const std::string name = layer.at("config").at("name").get<std::string>();
    network.layers[name] = layer;
    if (last.layer.empty()) {
      network.inputs.push_back({name, 0, 0});
    } else {
      network.nodes.push_back({name, 0, {last}, {}});
    }
    last = {name, 0, 0};
  };
  const Json& layers = arguments.at("layers");
  const bool has_input = !layers.empty() && layers[0].at("class_name") == "InputLayer";
  if (!has_input) add(input_for(arguments));
  for (const Json& layer : layers) add(layer);
  network.outputs = {{"", last}};
  return network;
}

}  // namespace

bool is_model(const Json& object) {
  return object.is_object() && object.contains("config") && object.at("config").is_object() &&
         object.at("config").contains("layers");
}

Network read_network(const Json& model) {
  const Json& arguments = model.at("config");
  return arguments.contains("input_layers") ? read_functional(arguments)
                                            : read_sequential(arguments);
}

std::vector<const Node*> in_order(const Network& network) {
  std::map<Tensor, std::vector<std::size_t>> readers;  // nodes that take an output, by their places
  std::vector<std::size_t> missing(network.nodes.size());
  std::set<std::size_t> ready;
  std::set<Tensor> there(network.inputs.begin(), network.inputs.end());
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    for (Tensor input : node.inputs) {
      input.index = 0;
      if (there.contains(input)) continue;
      readers[input].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.insert(i);
  }
  std::vector<const Node*> order;
  while (!ready.empty()) {
    const std::size_t i = *ready.begin();
    ready.erase(ready.begin());
    const Node& node = network.nodes[i];
    order.push_back(&node);
    for (const std::size_t reader : readers[{node.layer, node.number, 0}]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
  }
  if (order.size() < network.nodes.size()) fail("its layers take outputs that no layer gives");
  return order;
}

}  // namespace meshwork::from_keras
