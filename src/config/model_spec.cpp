#include "config/expand_layers.h"
#include "config/sections.h"

namespace meshwork::config {
namespace {

/// The keys `input` and `inputs`.
void read_inputs(const Value* one, const Value* many, const Parameters& parameters,
                 ModelSpec& model) {
  if (one != nullptr && many != nullptr) {
    fail_at(many->at, "model has both 'input' and 'inputs'; keep one");
  }
  if (one != nullptr) {
    model.inputs.push_back(read_input("input", substitute(*one, parameters), one->at));
  }
  if (many == nullptr) return;
  if (!many->is_map() || many->map.empty()) {
    fail_at(many->at,
            "inputs must be a map of names and shapes, such as {{image: [28, 28]}}, not {}",
            many->is_map() ? "an empty one" : describe(*many));
  }
  for (const Value::Entry& entry : many->map) {
    model.inputs.push_back(read_input(entry.key, substitute(entry.value, parameters), entry.at));
  }
}

}  // namespace

std::vector<PathRule> read_path_rules(const Value* patterns, std::string_view what) {
  std::vector<PathRule> rules;
  if (patterns == nullptr) return rules;
  const std::vector<Value> list =
      patterns->is_list() ? patterns->list : std::vector<Value>{*patterns};
  for (const Value& pattern : list) {
    rules.push_back({pattern.as_string(what), pattern.at});
    if (pattern.scalar.empty()) fail_at(pattern.at, "{}: a pattern is empty", what);
  }
  return rules;
}

ModelSpec read_model(const Value& value, const Value* blocks, const MeshSpec& mesh) {
  Reader reader(value, "model");
  ModelSpec model;
  model.at = value.at;
  const Value* params = reader.find("params");
  const Value* input = reader.find("input");
  const Value* inputs = reader.find("inputs");
  const Value* outputs = reader.find("outputs");
  const Value* freeze = reader.find("freeze");
  const Value* layers = reader.find("layers");
  reader.finish();
  const Parameters parameters = read_parameters(params, "model");
  const Blocks known = read_blocks(blocks);
  read_inputs(input, inputs, parameters, model);
  model.freeze = read_path_rules(freeze, "freeze");
  expand_layers(layers != nullptr ? *layers : reader.require("layers"), outputs,
                {known, parameters, mesh}, model);
  return model;
}

}  // namespace meshwork::config
