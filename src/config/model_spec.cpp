#include <map>

#include "base/nearest.h"
#include "config/sections.h"

namespace meshwork::config {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

/// The named things that stand before a layer, in order.
class Names {
 public:
  void add(const std::string& name, const Location& at) {
    if (name.empty()) fail_at(at, "a name is empty");
    if (name.find('/') != std::string::npos) {
      fail_at(at, "name '{}' contains '/', which separates the parts of a variable path", name);
    }
    const auto [other, is_new] = places_.emplace(name, at);
    if (!is_new) {
      fail_at(at, "the name '{}' stands twice, first at {}; rename one", name,
              to_string(other->second));
    }
    order_.push_back(name);
  }

  void require(const Value& name, const std::string& what) const {
    const std::string word = name.as_string("inputs");
    if (places_.count(word) == 1) return;
    fail_at(name.at, "{}: no input or named layer '{}' stands before it{}", what, word,
            suggestion(word, order_));
  }

 private:
  std::map<std::string, Location> places_;
  std::vector<std::string> order_;
};

Shape read_shape(const Value& value) {
  const Shape shape = value.as_shape("input shape");
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) {
      fail_at(value.at, "input shape {} has an extent less than 1; leave out the batch dimension",
              meshwork::to_string(shape));
    }
    if (extent > kMaxElements / elements) {
      fail_at(value.at, "input shape {} has more than 2^40 elements", meshwork::to_string(shape));
    }
    elements *= extent;
  }
  return shape;
}

/// `Input: {shape: [28, 28, 1], name: image}`.
InputSpec read_input_layer(const ClassSpec& layer) {
  Reader reader(layer.args, "Input");
  const Value* shape = reader.find("shape");
  InputSpec input{reader.get("name", "input"), {}, layer.at};
  reader.finish();
  input.shape = read_shape(shape != nullptr ? *shape : reader.require("shape"));
  return input;
}

bool is_input(const ClassSpec& layer) { return layer.name == "Input"; }

void add_input(ModelSpec& model, Names& names, InputSpec input) {
  names.add(input.name, input.at);
  model.inputs.push_back(std::move(input));
}

/// The keys `input` and `inputs`.
void read_inputs(Reader& reader, ModelSpec& model, Names& names) {
  const Value* one = reader.find("input");
  const Value* many = reader.find("inputs");
  if (one != nullptr && many != nullptr) {
    fail_at(many->at, "model has both 'input' and 'inputs'; keep one");
  }
  if (one != nullptr) add_input(model, names, {"input", read_shape(*one), one->at});
  if (many == nullptr) return;
  if (!many->is_map() || many->map.empty()) {
    fail_at(many->at,
            "inputs must be a map of names and shapes, such as {{image: [28, 28]}}, not {}",
            many->is_map() ? "an empty one" : describe(*many));
  }
  for (const Value::Entry& entry : many->map) {
    add_input(model, names, {entry.key, read_shape(entry.value), entry.at});
  }
}

std::string describe_layer(const LayerSpec& layer) {
  if (layer.name.empty()) return layer.layer.name;
  return fmt::format("layer '{}' ({})", layer.name, layer.layer.name);
}

LayerSpec read_layer(const ClassSpec& spec, const Names& names) {
  LayerSpec layer{spec, {}, {}, spec.at};
  Value& args = layer.layer.args;
  const Value name = args.take("name");
  const Value inputs = args.take("inputs");
  if (!name.is_null()) layer.name = name.as_string("name");
  if (inputs.is_null()) return layer;
  const std::string what = describe_layer(layer);
  const std::vector<Value> words = inputs.is_list() ? inputs.list : std::vector<Value>{inputs};
  if (words.empty()) fail_at(inputs.at, "{}: inputs is empty; name a layer, or leave it out", what);
  for (const Value& word : words) {
    names.require(word, what);
    layer.inputs.push_back(word.scalar);
  }
  return layer;
}

/// A layer that names no inputs takes what stands before it in the list, be it an `Input`.
void take_the_one_before(LayerSpec& layer, const ModelSpec& model, bool after_input) {
  if (!layer.inputs.empty()) return;
  if (after_input) layer.inputs = {model.inputs.back().name};
  if (after_input || !model.layers.empty()) return;
  if (model.inputs.empty()) {
    fail_at(layer.at, "no input stands before {}; give model the key 'input', its sample shape",
            describe_layer(layer));
  }
  if (model.inputs.size() > 1) {
    fail_at(layer.at, "{} is the first layer and the model has {} inputs; say which with 'inputs'",
            describe_layer(layer), model.inputs.size());
  }
}

void read_layers(const Value& layers, ModelSpec& model, Names& names) {
  if (!layers.is_list()) {
    fail_at(layers.at,
            "layers must be a list, each element a layer, such as - Dense: {{units: 10}}, "
            "not {}",
            describe(layers));
  }
  bool after_input = false;
  for (const Value& item : layers.list) {
    const ClassSpec spec = read_class(item, "a layer");
    if (is_input(spec)) {
      add_input(model, names, read_input_layer(spec));
    } else {
      LayerSpec layer = read_layer(spec, names);
      take_the_one_before(layer, model, after_input);
      const Value::Entry* name = spec.args.find("name");
      if (name != nullptr && !name->value.is_null()) names.add(layer.name, name->value.at);
      model.layers.push_back(std::move(layer));
    }
    after_input = is_input(spec);
  }
  if (model.layers.empty()) fail_at(layers.at, "the model has no layers; list at least one");
}

}  // namespace

ModelSpec read_model(const Value& value) {
  Reader reader(value, "model");
  ModelSpec model;
  model.at = value.at;
  Names names;
  read_inputs(reader, model, names);
  const Value* layers = reader.find("layers");
  reader.finish();
  read_layers(layers != nullptr ? *layers : reader.require("layers"), model, names);
  return model;
}

}  // namespace meshwork::config
