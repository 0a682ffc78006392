#include "config/layer_element.h"

#include "base/nearest.h"
#include "config/sections.h"

namespace meshwork::config {
namespace {

constexpr std::string_view kLayout = "_layout";

std::string describe_element(const LayerElement& element) {
  if (!element.name.is_scalar()) return element.layer.name;
  return fmt::format("layer '{}' ({})", element.name.scalar, element.layer.name);
}

/// What stands before a layer that names no inputs.
LayerOutput last_of(const LayerList& list, const Location& at, const std::string& what) {
  if (!list.last.layer.empty()) return list.last;
  if (list.inputs == 0) {
    fail_at(at, "no input stands before {}; give model the key 'input', its sample shape", what);
  }
  fail_at(at, "{} is the first layer and the {} has {} inputs; say which with 'inputs'", what,
          list.what(), list.inputs);
}

std::vector<Value> words_of(const Value& value, const std::string& what) {
  if (value.is_list() && value.list.empty()) {
    fail_at(value.at, "{} is empty; name a layer, or leave it out", what);
  }
  return value.is_list() ? value.list : std::vector<Value>{value};
}

void read_inputs(const Value& inputs, const LayerList& list, LayerElement& element) {
  const std::string what = describe_element(element);
  if (inputs.is_null()) {
    element.inputs = {last_of(list, element.layer.at, what)};
    return;
  }
  std::vector<Value> words;
  if (!inputs.is_map()) {
    words = words_of(inputs, what + ": inputs");
  } else {
    for (const Value::Entry& entry : inputs.map) {
      if (entry.value.is_null()) continue;
      const auto of_role = words_of(entry.value, what + ": " + entry.key);
      words.insert(words.end(), of_role.begin(), of_role.end());
      element.roles.insert(element.roles.end(), of_role.size(), entry.key);
    }
  }
  if (words.empty()) {
    fail_at(inputs.at, "{}: inputs is empty; name a layer, or leave it out", what);
  }
  for (const Value& word : words) {
    const std::string name = word.as_string("inputs");
    if (word.is_real() && list.find(name) == nullptr) {
      fail_at(word.at,
              "{}: no input or layer '{}' stands before it; it is a number: Rescaling: {{scale, "
              "offset}} multiplies by one and adds one",
              what, name);
    }
    element.inputs.push_back(look_up_output(list, name, word.at, what, "stands before it"));
  }
  if (element.index > 0) element.inputs[0] = list.last;
}

void take_layout(const std::string& key, const MeshSpec& mesh, LayerElement& element) {
  const Value::Entry* entry = element.layer.args.find(key);
  if (entry == nullptr) return;
  const Location at = entry->at;
  const Value layout = element.layer.args.take(key);
  if (layout.is_null()) return;
  const std::string what = fmt::format("{}: {}", describe_element(element), key);
  element.layouts.push_back(
      read_layout(layout, key.substr(0, key.size() - kLayout.size()), at, mesh, what));
}

void take_layouts(const ModelText& text, LayerElement& element) {
  if (text.blocks.contains(element.layer.name)) {
    // Whatever else ends in _layout is a parameter of the block.
    take_layout(element_keys::kOutputLayout, text.mesh, element);
    return;
  }
  for (const std::string& key : element.layer.args.keys()) {
    const bool is_layout = key.size() > kLayout.size() && key.ends_with(kLayout);
    if (is_layout) take_layout(key, text.mesh, element);
  }
}

}  // namespace

std::string LayerElement::given_name() const {
  const bool counts = index > 0 && name.scalar == base_name;
  return counts ? fmt::format("{}_{}", name.scalar, index) : name.scalar;
}

LayerElement read_element(const Value& item, const LayerList& list, const ModelText& text,
                          std::int64_t index) {
  LayerElement element;
  element.layer = read_class(item, "a layer");
  element.index = index;
  Value& args = element.layer.args;
  element.name = args.take(element_keys::kName);
  if (!element.name.is_null()) element.name.as_string(element_keys::kName);
  if (element.layer.name == "InputLayer" && !text.blocks.contains(element.layer.name)) {
    element.layer.name = "Input";  // what Keras's get_config() says
  }
  if (element.layer.name == "Input") return element;
  const Value condition = args.take(element_keys::kIf);
  element.left_out = !condition.is_null() && !condition.as_bool(element_keys::kIf);
  if (element.layer.name != "use") {
    const Value trainable = args.take(element_keys::kTrainable);
    element.trainable = trainable.is_null() || trainable.as_bool(element_keys::kTrainable);
    const Value again = args.take(element_keys::kRematerialize);
    element.rematerialize = !again.is_null() && again.as_bool(element_keys::kRematerialize);
  }
  read_inputs(args.take(element_keys::kInputs), list, element);
  if (!element.left_out) take_layouts(text, element);
  return element;
}

const NamedLayer& look_up(const LayerList& list, const std::string& name, const Location& at,
                          std::string_view what, std::string_view where) {
  if (const NamedLayer* found = list.find(name)) return *found;
  fail_at(at, "{}: no input or layer '{}' {}{}", what, name, where, suggestion(name, list.known()));
}

LayerOutput look_up_output(const LayerList& list, const std::string& word, const Location& at,
                           std::string_view what, std::string_view where) {
  const std::size_t slash = word.find('/');
  const NamedLayer& named = look_up(list, word.substr(0, slash), at, what, where);
  if (slash == std::string::npos) return named.value();
  const std::string output = word.substr(slash + 1);
  if (output == "output") return named.value();
  if (named.layer >= 0) return {named.name, output};
  const char* const kind = named.block != nullptr ? "a block" : "an input";
  fail_at(at, "{}: '{}' is {}, and has one output, not '{}'{}", what, word.substr(0, slash),
          named.left_out ? "left out by 'if'" : kind, output,
          named.block != nullptr ? fmt::format("; give the block output: <layer>/{}", output) : "");
}

Value with_arguments(const Value& element) {
  const bool short_use = element.is_map() && element.map.size() == 1 &&
                         element.map[0].key == "use" && element.map[0].value.is_scalar();
  if (!short_use) return element;
  Value result = element;
  Value& use = result.map[0].value;
  const Value layer = use;
  use = Value{};
  use.at = layer.at;
  use.insert("layer", layer.at).value = layer;
  return result;
}

}  // namespace meshwork::config
