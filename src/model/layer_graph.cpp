#include "model/layer_graph.h"

#include <algorithm>
#include <set>

#include "base/join.h"
#include "base/nearest.h"
#include "config/lookup.h"
#include "model/arguments.h"
#include "model/freeze.h"
#include "model/layers/part.h"

namespace meshwork {
namespace {

using layers::Masked;

std::string name_of(const config::LayerSpec& spec) {
  if (spec.layer.name.empty()) return fmt::format("block '{}'", spec.path);
  return fmt::format("layer '{}' ({})", spec.path, spec.layer.name);
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

/// One more use may say what Keras takes when the layer is called, and nothing else.
void check_use(const config::LayerSpec& spec, const LayerDef& def, const std::string& what) {
  const std::vector<std::string> known(def.call_arguments.begin(), def.call_arguments.end());
  for (const std::string& key : spec.use_arguments) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail_at(spec.layer.args.find(key)->at,
            "use: '{}' is no argument of a call of {}{}; its others stand where it is first", key,
            what, suggestion(key, known));
  }
}

/// Every `<variable>_layout` must be that of a variable of the layer, be it one that its arguments
/// leave out, or of its output.
void check_layouts(const config::LayerSpec& spec, Scope& scope, const std::string& what) {
  if (spec.layouts.empty()) return;
  const Graph& graph = scope.builder().graph();
  const std::string prefix = spec.path + "/";
  std::vector<std::string> known;
  for (const Variable& variable : graph.variables) {
    const std::string& path = variable.path;
    if (path.starts_with(prefix)) known.push_back(path.substr(prefix.size()));
  }
  known.push_back("output");
  for (const NamedValue& output : scope.further_outputs()) known.push_back(output.name);
  for (const config::LayoutRule& rule : spec.layouts) {
    if (std::find(known.begin(), known.end(), rule.pattern) != known.end()) continue;
    if (scope.absent().contains(prefix + rule.pattern)) continue;
    fail_at(rule.at, "{} has no variable '{}' to be laid out{}", what, rule.pattern,
            suggestion(rule.pattern, known));
  }
}

/// Every input and layer must be taken by a layer or be an output of the model.
void check_all_taken(const config::ModelSpec& model) {
  std::set<std::string> taken;
  for (const config::LayerSpec& spec : model.layers) {
    for (const config::LayerOutput& input : spec.inputs) taken.insert(input.layer);
  }
  for (const config::OutputSpec& output : model.outputs) taken.insert(output.from.layer);
  const auto check = [&](const std::string& name, const config::Location& at,
                         const std::vector<config::BlockUse>& blocks) {
    if (taken.contains(name)) return;
    fail_at(at, "no layer takes '{}'; name it in the 'inputs' of a later one, or remove it{}", name,
            config::in_blocks(blocks));
  };
  for (const config::InputSpec& input : model.inputs) check(input.name, input.at, {});
  for (const config::LayerSpec& spec : model.layers) {
    const LayerDef* const def = config::find_named(layer_registry(), spec.layer.name);
    if (def == nullptr || !def->may_be_untaken) check(spec.name, spec.at, spec.blocks);
  }
}

/// Whether the layer is, or ends with, an activation function.
bool ends_active(const config::LayerSpec& spec) {
  const LayerDef* const def = config::find_named(layer_registry(), spec.layer.name);
  return (def != nullptr && def->is_activation) || spec.layer.args.find("activation") != nullptr;
}

/// The inputs in the order of the layer's `call_inputs`, where the file names these; nothing in the
/// place of one that it does not name.
std::vector<Masked> in_order(const config::LayerSpec& spec, const LayerDef& def,
                             const std::string& what, std::span<const Masked> inputs) {
  if (spec.roles.empty()) return {inputs.begin(), inputs.end()};
  const std::vector<std::string> known(def.call_inputs.begin(), def.call_inputs.end());
  if (known.empty()) {
    fail_at(spec.at, "{} has no names for its inputs; give them as a list: inputs: [{}]", what,
            to_string(spec.inputs));
  }
  std::vector<Masked> ordered;
  std::size_t listed = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto role = std::find(known.begin(), known.end(), spec.roles[i]);
    if (role == known.end()) {
      fail_at(spec.at, "{} takes no input '{}'{}", what, spec.roles[i],
              suggestion(spec.roles[i], known));
    }
    auto place = static_cast<std::size_t>(role - known.begin());
    if (def.ends_with_list && place == known.size() - 1) place += listed++;
    if (place >= ordered.size()) ordered.resize(place + 1);
    if (ordered[place].value != kNoValue) {
      fail_at(spec.at, "{} takes one '{}', not a list", what, spec.roles[i]);
    }
    ordered[place] = inputs[i];
  }
  for (std::size_t i = 0; i < def.min_inputs; ++i) {
    if (i < ordered.size() && ordered[i].value != kNoValue) continue;
    fail_at(spec.at, "{} needs an input '{}'", what, known[i]);
  }
  return ordered;
}

/// What an input or layer gives, and what errors call it.
struct Given {
  Masked first;
  std::vector<NamedValue> further = {};
  bool of_masked = false;
  std::string path = {}, what = {};
};

/// The variables from `first` on, of one layer, in the order of its parts.
void order_by_parts(Graph& graph, std::size_t first, const LayerDef& def, const std::string& path) {
  const auto part_of = [&](const Variable& variable) {
    const auto is_part = [&](const LayerPart& part) {
      return variable.path.starts_with(fmt::format("{}/{}/", path, part.name));
    };
    return std::find_if(def.parts.begin(), def.parts.end(), is_part);
  };
  std::stable_sort(graph.variables.begin() + static_cast<std::ptrdiff_t>(first),
                   graph.variables.end(),
                   [&](const Variable& a, const Variable& b) { return part_of(a) < part_of(b); });
}

/// What an op says of shapes begins with the path under which it stands, and knows no place.
std::string with_place(const config::LayerSpec& spec, const std::string& what) {
  const bool is_of_op = what.starts_with(spec.path + ":") || what.starts_with(spec.path + "/");
  return is_of_op ? fmt::format("{}: {}", config::to_string(spec.at), what) : what;
}

/// Builds the layers of a model, one after the other.
class Layers {
 public:
  Layers(Scope& scope, const config::ModelSpec& model, config::Precision precision,
         std::vector<std::string>* notes)
      : scope_(scope), precision_(precision), freeze_(model.freeze), notes_(notes) {
    scope_.set_frozen([this](const std::string& path) { return freeze_.freezes_variable(path); });
  }
  ~Layers() { scope_.set_frozen({}); }
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  void add_input(const ModelInput& input) { given_[input.name] = {{input.value}}; }

  void add(const config::LayerSpec& spec) {
    Given given{.first = {}, .path = spec.path, .what = name_of(spec)};
    try {
      std::vector<Masked> inputs;
      for (const config::LayerOutput& input : spec.inputs) {
        inputs.push_back(value(input, spec.at, given.what));
      }
      given.first = inputs[0];
      if (!spec.layer.name.empty()) {
        given.first = build(spec, inputs);
        given.of_masked = scope_.mask(0) != kNoValue;
        given.further = scope_.further_outputs();
      }
    } catch (const Error& error) {
      throw Error(error.code(), with_place(spec, error.what()) + config::in_blocks(spec.blocks));
    }
    auto& outputs = scope_.builder().graph().layer_outputs;
    outputs.push_back({.name = spec.path + "/output",
                       .value = given.first.value,
                       .activation = ends_active(spec),
                       .of_masked = given.of_masked});
    for (const NamedValue& output : given.further) {
      outputs.push_back({spec.path + "/" + output.name, output.value});
    }
    given_[spec.name] = std::move(given);
  }

  /// An Error that begins with `at` and `what` where the layer has no such output.
  Masked value(const config::LayerOutput& name, const config::Location& at,
               std::string_view what) const {
    const Given& given = given_.at(name.layer);
    if (name.output.empty()) return given.first;
    std::vector<std::string> known{"output"};
    for (const NamedValue& output : given.further) {
      if (output.name == name.output) return {output.value};
      known.push_back(output.name);
    }
    const std::string path = given.path + "/" + name.output;
    if (scope_.is_variable(path)) {
      fail_at(at,
              "{}: {} has no output '{}', which is a variable; known: '{}'; write the name of the "
              "layer alone for its 'output'",
              what, given.what, name.output, join(known, "', '"));
    }
    const auto absent = scope_.absent().find(path);
    if (absent != scope_.absent().end()) {
      fail_at(at, "{}: {} has no output '{}', which '{}' leaves out; known: '{}'", what, given.what,
              name.output, absent->second, join(known, "', '"));
    }
    fail_at(at, "{}: {} has no output '{}'{}", what, given.what, name.output,
            suggestion(name.output, known));
  }

  const FreezeRules& freeze() const { return freeze_; }

 private:
  Masked build(const config::LayerSpec& spec, std::span<const Masked> named) {
    layers::refuse_known_layer(spec.layer);
    const LayerDef& def = config::look_up(layer_registry(), spec.layer, "layer");
    config::Reader args(spec.layer.args, name_of(spec));
    const config::Value* const of_output = args.find(kActivityRegularizer);
    LayerFacts facts{.at = spec.at,
                     .trainable = spec.trainable && !freeze_.freezes_layer(spec.path),
                     .dtype = read_dtype(args),
                     .use = uses_[spec.path]++,
                     .variables = read_variable_arguments(spec.layer.args, args)};
    const auto& constraints = facts.variables.constraints;
    if (!constraints.empty() && def.module != "keras.layers") {
      fail_at(args.at(), "{}: '{}{}': it takes no constraints", args.what(),
              constraints.begin()->first, kConstraint);
    }
    const std::vector<Masked> inputs = in_order(spec, def, args.what(), named);
    check_count(spec, def, args.what(), inputs.size());
    check_use(spec, def, args.what());
    scope_.enter_layer(layers::facts_of(def, inputs, std::move(facts)));
    const PathScope path(scope_.builder(), spec.path);
    const std::size_t variables = scope_.builder().graph().variables.size();
    const ValueId output = layers::build_entered(scope_, def, args, inputs, def.build);
    order_by_parts(scope_.builder().graph(), variables, def, spec.path);
    check_used(args, scope_.layer().variables, scope_.used());
    if (of_output != nullptr) scope_.penalize(output, read_regularizer(*of_output));
    if (checked_elements(scope_.builder().shape(output)) < 0) {
      fail_at(spec.at,
              "{}: its output would have more than 2^46 elements, or 2^31 along a dimension",
              args.what());
    }
    check_layouts(spec, scope_, args.what());
    const ValueId passed = def.passes_mask ? inputs[0].mask : kNoValue;
    if (!def.passes_mask && !scope_.output_mask()) note_lost_mask(spec, args.what(), inputs);
    return {output, scope_.output_mask().value_or(passed)};
  }

  void note_lost_mask(const config::LayerSpec& spec, const std::string& what,
                      std::span<const Masked> inputs) {
    const auto has_mask = [](const Masked& input) { return input.mask != kNoValue; };
    if (notes_ == nullptr || std::none_of(inputs.begin(), inputs.end(), has_mask)) return;
    notes_->push_back(
        fmt::format("{}: the mask of the input of {} ends here, as in Keras; what comes after it "
                    "counts padding like all else",
                    config::to_string(spec.at), what));
  }

  /// In which a layer computes: `dtype`, Keras's name of a policy, or that of the model.
  DType read_dtype(config::Reader& args) const {
    const config::Value* given = args.find("dtype");
    const config::Precision precision =
        given == nullptr ? precision_
                         : config::read_precision(*given, fmt::format("{}: dtype", args.what()));
    return config::compute_dtype(precision);
  }

  Scope& scope_;
  config::Precision precision_;
  FreezeRules freeze_;
  std::vector<std::string>* notes_;
  std::map<std::string, Given> given_;  ///< by name
  std::map<std::string, int> uses_;     ///< of a path, so far
};

}  // namespace

std::vector<Prediction> add_layers(Scope& scope, const config::ModelSpec& model,
                                   config::Precision precision,
                                   const std::vector<ModelInput>& inputs,
                                   std::vector<std::string>* notes) {
  check_all_taken(model);
  Layers layers(scope, model, precision, notes);
  for (const ModelInput& input : inputs) layers.add_input(input);
  for (const config::LayerSpec& spec : model.layers) layers.add(spec);
  layers.freeze().check_all_hit(model, scope.builder().graph());
  std::vector<Prediction> outputs;
  for (const config::OutputSpec& output : model.outputs) {
    const Masked value = layers.value(output.from, output.at, "outputs");
    outputs.push_back({scope.cast(value.value, DType::kFloat32), value.mask});
  }
  return outputs;
}

}  // namespace meshwork
