#include "interchange/keras_model.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "config/lookup.h"
#include "config/names.h"
#include "model/layers/layer.h"
#include "model/model.h"
#include "optim/optimizer.h"

namespace meshwork {
namespace {

enum class Blocks { kSequentialIfChain, kFunctional, kNone };

/// One use of a layer or block in the list of a model or block.
struct Use {
  std::string name;
  std::string path;
  std::string kind;
  std::vector<std::string> inputs;  ///< names of uses, and of what stands outside
  std::vector<Use> uses;            ///< of a block
  std::string output;               ///< of a block: a name in it
  const LayerDef* def = nullptr;    ///< of a layer
  config::Value args = {};          ///< of a layer
  bool gives_several = false;       ///< outputs
};

/// A use of a layer, its inputs still to be added.
Use use_of(const config::LayerSpec& spec) {
  const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
  return {spec.name, spec.path, snake_case(def.names.front()), {}, {}, {}, &def, spec.layer.args};
}

std::set<std::string> names_of(const std::vector<Use>& uses) {
  std::set<std::string> names;
  for (const Use& use : uses) names.insert(use.name);
  return names;
}

/// What a block takes from outside, in the order in which it is first taken.
std::vector<std::string> inputs_of(const Use& block) {
  const std::set<std::string> own = names_of(block.uses);
  std::vector<std::string> inputs;
  const auto add = [&](const std::string& name) {
    if (own.contains(name)) return;
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) inputs.push_back(name);
  };
  for (const Use& use : block.uses) {
    for (const std::string& name : use.inputs) add(name);
  }
  add(block.output);
  return inputs;
}

/// Whether each use takes what stands before it, and only that. Keras's Sequential takes layers
/// alone.
bool is_chain(const std::vector<Use>& uses, const std::string& output) {
  if (uses.empty() || uses.back().name != output) return false;
  std::set<std::string> paths;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (!paths.insert(uses[i].path).second || uses[i].inputs.size() != 1) return false;
    if (uses[i].def != nullptr && is_operation(*uses[i].def)) return false;
    if (uses[i].gives_several) return false;
    if (i > 0 && uses[i].inputs[0] != uses[i - 1].name) return false;
  }
  return true;
}

/// Puts a list of layers, written out, back into blocks.
class Reading {
 public:
  Reading(const std::vector<config::LayerSpec>& layers, const Graph& graph, Blocks blocks)
      : layers_(layers), further_(graph), blocks_(blocks) {}

  std::vector<Use> read() { return read_list(0); }

  /// The layer whose output a block gives on, where there are no blocks.
  std::string resolve(const std::string& name) const {
    const auto given = given_on_.find(name);
    return given == given_on_.end() ? name : given->second;
  }

 private:
  /// Up to the end of the block `depth` deep.
  std::vector<Use> read_list(std::size_t depth) {
    std::vector<Use> uses;
    while (at_ < layers_.size()) {
      const config::LayerSpec& spec = layers_[at_];
      const bool ends_block = spec.layer.name.empty();
      if (blocks_ != Blocks::kNone && spec.blocks.size() > depth + std::size_t{ends_block}) {
        uses.push_back(read_block(depth + 1));
        continue;
      }
      if (blocks_ != Blocks::kNone && ends_block) {
        if (spec.blocks.size() == depth) return uses;
        uses.push_back(read_block(depth + 1));
        continue;
      }
      ++at_;
      if (ends_block) {
        given_on_[spec.name] = resolve(spec.inputs[0].layer);
        continue;
      }
      Use use = use_of(spec);
      for (const config::LayerOutput& input : spec.inputs) {
        use.inputs.push_back(resolve(input.layer));
      }
      use.gives_several = !further_.of(spec.path).empty();
      uses.push_back(std::move(use));
    }
    return uses;
  }

  Use read_block(std::size_t depth) {
    Use block;
    block.uses = read_list(depth);
    const config::LayerSpec& end = layers_.at(at_++);
    block.name = end.name;
    block.path = end.path;
    block.output = end.inputs[0].layer;
    block.inputs = inputs_of(block);
    const bool is_sequential = blocks_ == Blocks::kSequentialIfChain && block.inputs.size() == 1 &&
                               is_chain(block.uses, block.output);
    block.kind = is_sequential ? "sequential" : "functional";
    return block;
  }

  const std::vector<config::LayerSpec>& layers_;
  FurtherOutputs further_;
  Blocks blocks_;
  std::size_t at_ = 0;
  std::map<std::string, std::string> given_on_;
};

/// Keras's order of the layers of a model: those farthest from the outputs first, and of these as
/// a walk from the outputs against the arrows meets them.
class KerasOrder {
 public:
  explicit KerasOrder(const std::vector<Use>& uses) {
    for (const Use& use : uses) uses_[use.name] = &use;
  }

  std::vector<const Use*> order(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) visit(output);
    std::map<std::string, int> depths;        // of uses
    std::map<std::string, int> layer_depths;  // of layers, which several uses may share
    for (auto use = done_.rbegin(); use != done_.rend(); ++use) {
      int& layer_depth = layer_depths[(*use)->path];
      layer_depth = std::max(layer_depth, depths[(*use)->name]);
      for (const std::string& input : (*use)->inputs) {
        depths[input] = std::max(depths[input], layer_depth + 1);
      }
    }
    std::vector<const Use*> layers;
    for (const Use* use : first_met_) layers.push_back(use);
    std::stable_sort(layers.begin(), layers.end(), [&](const Use* a, const Use* b) {
      return layer_depths[a->path] > layer_depths[b->path];
    });
    return layers;
  }

 private:
  /// Without recursion: a model may have many thousands of layers, one behind the other.
  void visit(const std::string& output) {
    struct Step {
      const Use* use;
      std::size_t next_input;
    };
    std::vector<Step> open;
    const auto enter = [&](const std::string& name) {
      const auto use = uses_.find(name);
      if (use == uses_.end() || !entered_.insert(name).second) return;
      if (met_layers_.insert(use->second->path).second) first_met_.push_back(use->second);
      open.push_back({use->second, 0});
    };
    enter(output);
    while (!open.empty()) {
      Step& step = open.back();
      if (step.next_input < step.use->inputs.size()) {
        enter(step.use->inputs[step.next_input++]);
      } else {
        done_.push_back(step.use);
        open.pop_back();
      }
    }
  }

  std::map<std::string, const Use*> uses_;
  std::set<std::string> entered_, met_layers_;
  std::vector<const Use*> first_met_, done_;
};

/// Paths of the variables of each layer, in the order in which it makes them.
using Variables = std::map<std::string, std::vector<std::string>>;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Names of parts and what files call them, those of parts within them too.
void add_parts(const LayerDef& def, const config::Value& args, const std::string& path,
               const std::string& stored, std::map<std::string, std::string>& parts) {
  const auto own = def.parts_of == nullptr ? def.parts : def.parts_of(args);
  for (const LayerPart& part : own) {
    const std::string name = fmt::format("{}{}", path, part.name);
    const std::string place = fmt::format("{}{}", stored, part.stored_as);
    parts[name] = place;
    if (part.def != nullptr) add_parts(*part.def, part.args, name + "/", place + "/", parts);
  }
}

std::vector<KerasLayer> in_keras_order(const std::vector<Use>& uses,
                                       const std::vector<std::string>& outputs,
                                       const Variables& variables) {
  std::vector<KerasLayer> layers;
  for (const Use* use : KerasOrder(uses).order(outputs)) {
    KerasLayer layer{use->kind, last_part(use->path), use->path, {}, {}};
    if (use->def != nullptr) {
      add_parts(*use->def, use->args, "", "", layer.parts);
    }
    const auto own = variables.find(use->path);
    if (own != variables.end() && use->uses.empty()) layer.variables = own->second;
    layer.layers = in_keras_order(use->uses, {use->output}, variables);
    layers.push_back(std::move(layer));
  }
  return layers;
}

void add_trained(const KerasLayer& layer, const std::set<std::string>& trained,
                 std::vector<std::string>& paths) {
  for (const std::string& path : layer.variables) {
    if (trained.contains(path)) paths.push_back(path);
  }
  for (const KerasLayer& inner : layer.layers) add_trained(inner, trained, paths);
}

/// Keras stores a kernel with its factors merged, and makes the factors anew.
void check_storable(const config::Config& config, const Variable& variable) {
  if (!last_part(variable.path).starts_with("lora_")) return;
  fail(
      "{}: Keras's files hold no '{}', only kernels that LoRA has changed; take a file .npz or "
      ".safetensors",
      config.file, variable.path);
}

KerasModel make_keras_model(const config::Config& config, const Graph& graph, Blocks blocks) {
  Variables variables;
  std::set<std::string> trained;
  for (const Variable& variable : graph.variables) {
    check_storable(config, variable);
    variables[layer_path(graph, variable)].push_back(variable.path);
    if (variable.trainable) trained.insert(variable.path);
  }
  Reading reading(config.model.layers, graph, blocks);
  const std::vector<Use> uses = reading.read();
  std::vector<std::string> outputs;
  for (const config::OutputSpec& output : config.model.outputs) {
    outputs.push_back(reading.resolve(output.from.layer));
  }
  KerasModel result;
  const bool is_sequential =
      config.model.inputs.size() == 1 && outputs.size() == 1 && is_chain(uses, outputs.front());
  result.model.kind = result.model.name = is_sequential ? "sequential" : "functional";
  result.model.layers = in_keras_order(uses, outputs, variables);
  if (!config.compile) return result;
  std::vector<std::string> weights;
  add_trained(result.model, trained, weights);
  const OptimizerState state = state_of(config.compile->optimizer, weights);
  result.optimizer = state.name;
  result.slots = state.slots;
  result.placeholders = state.placeholders;
  result.scaled_by = state.scaled_by;
  result.counters = state.counters;
  result.has_learning_rate = !schedule_of(config.compile->optimizer).has_value();
  return result;
}

}  // namespace

Graph predicting_program(const config::Config& config) {
  return build_model(config, stated_signature(config.model), Mode::kPredict, 1);
}

std::string layer_path(const Graph& graph, const Variable& variable) {
  return graph.node(variable.value).path;
}

FurtherOutputs::FurtherOutputs(const Graph& graph) {
  for (const NamedValue& value : graph.layer_outputs) {
    const std::size_t slash = value.name.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string name = value.name.substr(slash + 1);
    if (name == "output") continue;
    // A layer that is used several times gives each of them several times.
    std::vector<NamedValue>& outputs = by_path_[value.name.substr(0, slash)];
    if (std::ranges::find(outputs, name, &NamedValue::name) == outputs.end()) {
      outputs.push_back({name, value.value});
    }
  }
}

const std::vector<NamedValue>& FurtherOutputs::of(const std::string& path) const {
  static const std::vector<NamedValue> none;
  const auto outputs = by_path_.find(path);
  return outputs == by_path_.end() ? none : outputs->second;
}

std::vector<GlobalTensor> model_weights(const Graph& graph) {
  std::vector<GlobalTensor> weights;
  for (const Variable& variable : graph.variables) {
    const TensorType& type = graph.node(variable.value).type;
    weights.push_back({variable.path, type.dtype, type.shape});
  }
  return weights;
}

KerasModel keras_model(const config::Config& config, const Graph& graph) {
  return make_keras_model(config, graph, Blocks::kSequentialIfChain);
}

KerasModel flat_keras_model(const config::Config& config, const Graph& graph) {
  KerasModel model = make_keras_model(config, graph, Blocks::kNone);
  for (KerasLayer& layer : model.model.layers) layer.name = flat_name(layer.path);
  return model;
}

DescribeForKeras keras_models(const config::Config& config) {
  return [&config] {
    const Graph graph = predicting_program(config);
    std::vector<KerasModel> models;
    for (const Blocks blocks : {Blocks::kSequentialIfChain, Blocks::kFunctional, Blocks::kNone}) {
      models.push_back(make_keras_model(config, graph, blocks));
    }
    return models;
  };
}

}  // namespace meshwork
