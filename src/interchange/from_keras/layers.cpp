#include "interchange/from_keras/layers.h"

#include "base/error.h"
#include "base/json.h"
#include "config/yaml.h"
#include "interchange/from_keras/movements.h"
#include "interchange/from_keras/nodes.h"
#include "interchange/from_keras/values.h"

namespace meshwork::from_keras {
namespace {

using config::Value;

/// An output of a model in a list of layers.
struct Made {
  std::string name;
  TensorType type;
};

/// Reads one list, and those of the models in it.
class Reading {
 public:
  Reading(Layers& all, Trial& trial, const std::string& file, const std::string& precision,
          std::string within)
      : all_(all), trial_(trial), file_(file), precision_(precision), within_(std::move(within)) {}

  LayerList read(const Json& model) {
    const Network network = read_network(model);
    const bool is_block = !within_.empty();
    for (const Tensor& input : network.inputs) {
      const auto layer = network.layers.find(input.layer);
      if (layer == network.layers.end()) fail("no layer is its input '{}'", input.layer);
      add_input(layer->second, input, is_block && network.inputs.size() == 1);
    }
    for (const Node* node : in_order(network)) {
      try {
        add(network, *node);
      } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with(file_)) throw;
        std::string_view message = error.what();
        if (message.starts_with(": ")) message.remove_prefix(2);  // said of no place
        const std::string what = fmt::format("layer '{}' (", node->layer);
        if (message.starts_with(what)) fail("{}: {}{}", file_, within_, message);
        fail("{}: {}{}{}): {}", file_, within_, what,
             network.layers.at(node->layer).at("class_name").get<std::string>(), message);
      }
    }
    for (const auto& [name, output] : network.outputs) {
      const auto made = made_.find(output);
      if (made == made_.end()) fail("no layer gives its output '{}'", output.layer);
      const auto& [called, type] = made->second;
      list_.outputs.push_back(called);
      list_.output_types.push_back(type);
      if (!name.empty() && name != called) list_.output_names[called] = name;
    }
    list_.last = last_;
    return std::move(list_);
  }

 private:
  void add_input(const Json& object, const Tensor& input, bool is_only_one) {
    const Json& arguments = object.at("config");
    const Json& given = arguments.contains("batch_shape") ? arguments.at("batch_shape")
                                                          : arguments.at("batch_input_shape");
    TensorType type{DType::kFloat32, {2}};
    for (std::size_t d = 1; d < given.size(); ++d) {
      if (given[d].is_null()) {
        fail(
            "{}: {}input '{}' has the shape {}: all samples have one shape here; build the model "
            "for one, keras.Input((224, 224, 3)), and save it again",
            file_, within_, input.layer, json_dump(given));
      }
      type.shape.push_back(whole(given[d]));
    }
    const std::string dtype = policy_of(object);
    if (dtype.starts_with("int") || dtype.starts_with("uint")) type.dtype = DType::kInt32;
    const std::string name = is_only_one ? "input" : input.layer;
    list_.inputs.push_back(name);
    list_.types.push_back(type);
    made_[input] = {name, type};
    last_ = list_.inputs.size() == 1 ? name : "";
  }

  void add(const Network& network, const Node& node) {
    const Json& object = network.layers.at(node.layer);
    std::vector<TensorType> types;
    Call call = node.call;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto given = made_.find(node.inputs[i]);
      if (given == made_.end()) {
        fail("it takes output {} of '{}', which has none here", node.inputs[i].index,
             node.inputs[i].layer);
      }
      call.inputs.push_back(given->second.name);
      types.push_back(given->second.type);
    }
    check_mask(network, node);
    if (is_model(object)) return add_model(object, node, call, types);
    Layer layer = layer_of(object, call, types);
    if (node.number > 0) {
      return add_use(node, call, trial_.outputs(layer, node.layer, types), layer);
    }
    const std::vector<Output> outputs = trial_.shorten(layer, node.layer, types);
    Value args;
    args.insert("name", {}).value = word(node.layer);
    for (const Value::Entry& entry : layer.args.map) args.insert(entry.key, {}).value = entry.value;
    add_line(layer.class_name, args, call.inputs, layer.roles);
    give(node, node.layer, outputs);
  }

  Layer layer_of(const Json& object, const Call& call, const std::vector<TensorType>& types) const {
    if (is_operation(object) && types.size() == 1) {
      if (std::optional<Layer> movement = as_movement(object, types[0].shape)) return *movement;
    }
    return read_layer(object, call, precision_);
  }

  /// A mask that comes along with a tensor is made by operations.
  static void check_mask(const Network& network, const Node& node) {
    const auto layer = network.layers.find(node.mask);
    if (layer == network.layers.end() || is_operation(layer->second)) return;
    fail("its call is given '{}' as its mask; here a mask is one that Embedding or Masking makes",
         node.mask);
  }

  /// What the call of a node gives, under a name.
  void give(const Node& node, const std::string& name, const std::vector<Output>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string further = i == 0 ? "" : "/" + outputs[i].name;
      made_[{node.layer, node.number, static_cast<int>(i)}] = {name + further, outputs[i].type};
    }
    last_ = name;
  }

  /// One more use of a layer, or of a model in the list.
  void add_use(const Node& node, const Call& call, const std::vector<Output>& outputs,
               const Layer& layer) {
    const std::string name = fmt::format("{}_use_{}", node.layer, node.number + 1);
    Value args;
    args.insert("layer", {}).value = word(node.layer);
    args.insert("name", {}).value = word(name);
    for (const auto& [key, json] : call.numbers) {
      const Value::Entry* const entry = layer.args.find(key);
      if (entry != nullptr) args.insert(key, {}).value = entry->value;
    }
    add_line("use", args, call.inputs, layer.roles);
    give(node, name, outputs);
  }

  void add_model(const Json& object, const Node& node, const Call& call,
                 const std::vector<TensorType>& types) {
    if (!blocks_.contains(node.layer)) {
      Reading inner(all_, trial_, file_, precision_, fmt::format("{}{}: ", within_, node.layer));
      LayerList list = inner.read(object);
      if (list.outputs.size() != 1) fail("it has {} outputs; a block has one", list.outputs.size());
      if (types.size() != list.types.size()) {
        fail("it has {} inputs and is called with {}", list.types.size(), types.size());
      }
      blocks_[node.layer] = list.output_types[0];
      for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i].shape == list.types[i].shape) continue;
        fail("it is built for samples {} and called with {}", to_string(list.types[i].shape),
             to_string(types[i].shape));
      }
      all_.blocks.emplace_back(node.layer, std::move(list));
    }
    const std::vector<Output> outputs{{"", blocks_.at(node.layer)}};
    if (node.number > 0) return add_use(node, call, outputs, {});
    Value args;
    args.insert("name", {}).value = word(node.layer);
    if (!object.at("config").value("trainable", true)) {
      args.insert("trainable", {}).value = value_of(Json(false));
    }
    add_line(node.layer, args, call.inputs, {});
    give(node, node.layer, outputs);
  }

  void add_line(const std::string& class_name, Value args, const std::vector<std::string>& inputs,
                const std::vector<std::string>& roles) {
    const bool is_one = roles.empty() && inputs.size() == 1;
    if (!is_one) {
      args.insert("inputs", {}).value = inputs_value(roles, inputs);
    } else if (inputs[0] != last_) {
      args.insert("inputs", {}).value = word(inputs[0]);
    }
    list_.lines.push_back(fmt::format("{}: {}", class_name, config::to_line(args)));
  }

  Layers& all_;
  Trial& trial_;
  const std::string& file_;
  const std::string& precision_;
  std::string within_;  ///< "tower: " in a model that is a layer of another; ends with a space
  LayerList list_;
  std::map<Tensor, Made> made_;
  std::map<std::string, TensorType> blocks_;  ///< of this list, and what they give
  std::string last_;                          ///< what a layer takes that does not say
};

void count_policies(const Json& object, std::map<std::string, int>& counts) {
  if (!is_model(object)) {
    ++counts[policy_of(object)];
    return;
  }
  for (const Json& layer : object.at("config").at("layers")) count_policies(layer, counts);
}

}  // namespace

Layers read_layers(const Json& model, const std::string& file, const std::string& precision) {
  Layers all;
  Trial trial(precision);
  try {
    all.model = Reading(all, trial, file, precision, "").read(model);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(file)) throw;
    fail(error.code(), "{}: {}", file, error.what());
  }
  return all;
}

std::string precision_of(const Json& model) {
  std::map<std::string, int> counts;
  count_policies(model, counts);
  std::string found = "float32";
  int most = 0;
  for (const auto& [policy, count] : counts) {
    if (!policy.starts_with("mixed_") || count <= most) continue;
    found = policy;
    most = count;
  }
  return found;
}

}  // namespace meshwork::from_keras
