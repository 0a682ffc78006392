#include "model/layer_graph.h"

#include <set>

#include "base/nearest.h"
#include "config/lookup.h"
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "model/names.h"

namespace meshwork {
namespace {

/// An input or layer under its name.
struct Named {
  std::string name;
  ValueId value = kNoValue;
  config::Location at;
  bool used = false;
};

/// Inputs and the layers so far, in order.
class Layers {
 public:
  void add(const std::string& name, ValueId value, const config::Location& at) {
    items_.push_back({name, value, at});
  }

  /// An Error if the name is taken, or cannot be part of a path.
  void check_name(const std::string& name, const config::Location& at) const {
    if (name.empty() || name.find('/') != std::string::npos) {
      fail_at(at, "a layer cannot be called '{}'; give a name without '/'", name);
    }
    for (const Named& item : items_) {
      if (item.name != name) continue;
      fail_at(at, "the name '{}' is taken by what stands at {}; give one of them another 'name'",
              name, to_string(item.at));
    }
  }

  ValueId use(const std::string& name, const config::Location& at) {
    std::vector<std::string> known;
    for (Named& item : items_) {
      known.push_back(item.name);
      if (item.name != name) continue;
      item.used = true;
      return item.value;
    }
    fail_at(at, "no input or layer '{}' stands before this layer{}", name, suggestion(name, known));
  }

  ValueId use_last(const config::Location& at) {
    if (items_.empty()) fail_at(at, "no input stands before the first layer; give model an input");
    items_.back().used = true;
    return items_.back().value;
  }

  const std::vector<Named>& items() const { return items_; }

 private:
  std::vector<Named> items_;
};

std::vector<ValueId> inputs_of(const config::LayerSpec& spec, Layers& layers) {
  if (spec.inputs.empty()) return {layers.use_last(spec.at)};
  std::vector<ValueId> result;
  for (const std::string& name : spec.inputs) result.push_back(layers.use(name, spec.at));
  return result;
}

void check_count(const config::LayerSpec& spec, const LayerDef& def, const std::string& what,
                 std::size_t count) {
  if (count < def.min_inputs) {
    fail_at(spec.at, "{} takes {} inputs or more, not {}; name them: inputs: [a, b]", what,
            def.min_inputs, count);
  }
  if (count > def.max_inputs) {
    fail_at(spec.at, "{} takes no more than {} input{}, not {}; join them with Add or Concatenate",
            what, def.max_inputs, def.max_inputs == 1 ? "" : "s", count);
  }
}

ValueId build_layer(Scope& scope, const config::LayerSpec& spec, const std::string& name,
                    Layers& layers) {
  const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
  config::Reader args(spec.layer.args, fmt::format("layer '{}' ({})", name, spec.layer.name));
  scope.set_trainable(args.get("trainable", true));
  refuse_dtype(args);
  refuse_arguments(args, {"activity_regularizer"});
  const std::vector<ValueId> inputs = inputs_of(spec, layers);
  check_count(spec, def, args.what(), inputs.size());
  const PathScope path(scope.builder(), name);
  const ValueId output = def.build(scope, args, inputs);
  args.finish();
  if (checked_elements(scope.builder().shape(output)) < 0) {
    fail_at(spec.at, "{}: its output would have more than 2^46 elements", args.what());
  }
  return output;
}

void check_all_used(const Layers& layers) {
  for (std::size_t i = 0; i + 1 < layers.items().size(); ++i) {
    const Named& item = layers.items()[i];
    if (!item.used) {
      fail_at(item.at, "no layer takes '{}'; name it in the 'inputs' of a later one, or remove it",
              item.name);
    }
  }
}

}  // namespace

ValueId add_layers(Scope& scope, const config::ModelSpec& model,
                   const std::vector<ModelInput>& inputs) {
  Layers layers;
  AutoNames names;
  for (const ModelInput& input : inputs) layers.add(input.name, input.value, input.at);
  ValueId last = kNoValue;
  for (const config::LayerSpec& spec : model.layers) {
    const std::string name = spec.name.empty() ? names.next(spec.layer.name) : spec.name;
    layers.check_name(name, spec.at);
    last = build_layer(scope, spec, name, layers);
    layers.add(name, last, spec.at);
    scope.builder().graph().layer_outputs.push_back({name + "/output", last});
  }
  if (last == kNoValue) fail_at(model.at, "the model has no layers; list at least one");
  check_all_used(layers);
  return last;
}

}  // namespace meshwork
