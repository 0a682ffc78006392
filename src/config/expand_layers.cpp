#include "config/expand_layers.h"

#include <algorithm>

#include "config/layer_element.h"

namespace meshwork::config {
namespace {

constexpr std::size_t kMaxLayers = 10'000;
constexpr std::size_t kMaxLetters = 20'000'000;
constexpr std::size_t kMaxDepth = 64;

class Expansion {
 public:
  Expansion(const ModelText& text, ModelSpec& model) : text_(text), model_(model) {}

  void run(const Value& layers, const Value* outputs) {
    LayerList list("model");
    list.parameters = text_.parameters;
    for (const InputSpec& input : model_.inputs) add_input(input, list);
    if (model_.inputs.size() == 1) list.last = {model_.inputs[0].name};
    write_out(layers, list);
    if (model_.layers.empty()) {
      fail_at(layers.at, "the model has no layers; list at least one");
    }
    read_outputs(outputs, list);
  }

 private:
  void add_input(const InputSpec& input, LayerList& list) {
    NamedLayer named{input.name, input.at, input.at};
    list.add(input.name, named);
    ++list.inputs;
  }

  void read_outputs(const Value* outputs, LayerList& list) {
    if (outputs == nullptr) {
      add_output(
          list.last.output.empty() ? local_name_of(list.last.layer, list) : to_string(list.last),
          list.last, model_.at);
      return;
    }
    const Value names = substitute(*outputs, list.parameters);
    const std::vector<Value> words = names.is_list() ? names.list : std::vector<Value>{names};
    if (words.empty()) fail_at(names.at, "outputs is empty; name a layer, or leave it out");
    for (const Value& word : words) {
      const std::string name = word.as_string("outputs");
      add_output(name, look_up_output(list, name, word.at, "outputs", "stands in the model"),
                 word.at);
    }
  }

  /// The names of files and of metrics begin with that of an output: it has no '/'.
  void add_output(std::string name, const LayerOutput& from, const Location& at) {
    std::replace(name.begin(), name.end(), '/', '_');
    for (const OutputSpec& other : model_.outputs) {
      if (other.name == name) fail_at(at, "outputs names '{}' twice; remove one", name);
    }
    model_.outputs.push_back({name, from, at});
  }

  static std::string local_name_of(const std::string& name, const LayerList& list) {
    for (const std::string& local : list.known()) {
      if (list.find(local)->name == name) return local;
    }
    return name;
  }

  void write_out(const Value& layers, LayerList& list) {
    if (!layers.is_list()) {
      fail_at(layers.at,
              "layers must be a list, each element a layer, such as - Dense: {{units: 10}}, not {}",
              describe(layers));
    }
    for (const Value& item : layers.list) {
      // An element may be a parameter as a whole: a layer that the block was given.
      write_out_element(with_arguments(item.is_scalar() ? substitute(item, list.parameters) : item),
                        list);
    }
  }

  void write_out_element(Value item, LayerList& list) {
    const bool has_arguments = item.is_map() && item.map.size() == 1 && item.map[0].value.is_map();
    const Value repeat = has_arguments ? item.map[0].value.take(element_keys::kRepeat) : Value{};
    if (repeat.is_null()) {
      count_element(item);
      write_out_one(read_element(substitute(item, list.parameters), list, text_, 0), list);
      return;
    }
    const Value given = substitute(repeat, list.parameters);
    const std::int64_t count = given.as_integer(element_keys::kRepeat);
    if (count < 0) fail_at(given.at, "repeat is {}; give 0 or more", count);
    Parameters parameters = list.parameters;
    std::optional<std::string> base_name;
    for (std::int64_t i = 0; i < count; ++i) {
      parameters["index"] = Value::of_text(std::to_string(i));
      count_element(item);
      LayerElement element = read_element(substitute(item, parameters), list, text_, i);
      if (!base_name) base_name = element.name.scalar;
      element.base_name = *base_name;
      write_out_one(std::move(element), list);
    }
  }

  /// One more element that is written out, for whatever stands in the file may be repeated.
  void count_element(const Value& item) {
    letters_ += size_of(item);
    if (++layers_ > kMaxLayers) {
      fail_at(item.at, "the model has more than {} layers, with repetitions", kMaxLayers);
    }
    if (letters_ > kMaxLetters) {
      fail_at(item.at, "the layers have more than {} letters, with repetitions", kMaxLetters);
    }
  }

  void write_out_one(LayerElement element, LayerList& list) {
    if (element.layer.name == "Input") {
      write_out_input(element, list);
    } else if (element.left_out) {
      leave_out(element, list);
    } else if (element.layer.name == "use") {
      use_again(element, list);
    } else if (const auto block = text_.blocks.find(element.layer.name);
               block != text_.blocks.end()) {
      NamedLayer named = name_element(element, list);
      named.block = &block->second;
      named.arguments = bind_parameters(block->second, element.layer.args, element.layer.at);
      write_out_block(named, element, list);
      list.add(local_name(named.name, list), named);
    } else {
      name_inner_layers(element.layer.args, list);
      NamedLayer named = name_element(element, list);
      named.layer = static_cast<int>(model_.layers.size());
      model_.layers.push_back({element.layer,
                               named.name,
                               named.path,
                               element.inputs,
                               element.roles,
                               list.trainable && element.trainable,
                               element.rematerialize,
                               element.layouts,
                               list.blocks,
                               {},
                               element.layer.at});
      list.add(local_name(named.name, list), named);
      list.last = {named.name};
    }
  }

  void write_out_input(const LayerElement& element, LayerList& list) {
    if (!list.blocks.empty()) {
      fail_at(element.layer.at,
              "Input cannot stand in a block; give the block inputs: [a, b], names of what it "
              "takes");
    }
    const InputSpec input = read_input(element.name.is_null() ? "input" : element.name.scalar,
                                       element.layer.args, element.layer.at);
    add_input(input, list);
    model_.inputs.push_back(input);
    list.last = {input.name};
  }

  /// Its name, if it has one, stands for its first input.
  static void leave_out(const LayerElement& element, LayerList& list) {
    list.last = element.inputs[0];
    if (element.name.is_null()) return;
    NamedLayer named{element.inputs[0].layer, element.layer.at, element.name.at};
    named.output = element.inputs[0].output;
    named.left_out = true;
    list.add(element.given_name(), named);
  }

  static std::string local_name(const std::string& name, const LayerList& list) {
    return name.substr(list.prefix.size());
  }

  static NamedLayer name_element(const LayerElement& element, LayerList& list) {
    const bool given = !element.name.is_null();
    const Location& at = element.layer.at;
    const Location& name_at = given ? element.name.at : at;
    const std::string local = given ? element.given_name() : list.next_name(element.layer.name);
    list.check(local, at, name_at);
    NamedLayer named{list.prefix + local, at, name_at};
    named.path = list.path_prefix + local;
    named.trainable = list.trainable && element.trainable;
    return named;
  }

  /// Gives names to the layers that another one is around, which count with all others, as in
  /// Keras.
  void name_inner_layers(Value& arguments, LayerList& list) const {
    for (const std::string_view key : {"layer", "backward_layer"}) {
      Value::Entry* const inner = arguments.find(key);
      if (inner == nullptr) continue;
      if (inner->value.is_scalar()) {  // a class without arguments
        const Value word = std::move(inner->value);
        inner->value = Value{};
        inner->value.at = word.at;
        inner->value.insert(word.scalar, word.at).value.at = word.at;
      }
      if (!inner->value.is_map() || inner->value.map.size() != 1) continue;
      auto& [class_name, at, args] = inner->value.map[0];
      if (text_.blocks.contains(class_name)) {
        fail_at(at, "'{}' is a block; a wrapper takes a layer: put one around each of the block's",
                class_name);
      }
      if (!(args.is_map() || args.is_null())) continue;
      name_inner_layers(args, list);
      if (args.find("name") != nullptr) continue;
      args.insert("name", at).value = Value::of_text(list.next_name(class_name), at);
    }
  }

  /// One more use of a layer or block: other names, the same paths.
  void use_again(const LayerElement& element, LayerList& list) {
    Reader reader(element.layer.args, "use");
    const Value& word = reader.require("layer");
    const std::string name = word.as_string("use");
    const NamedLayer first = look_up(list, name, word.at, "use", "stands before it");
    LayerElement again = element;
    again.trainable = first.trainable;
    if (again.name.is_null()) {
      again.name.kind = Value::Kind::kScalar;
      again.name.scalar = list.next_use(name);
      again.name.at = word.at;
      again.index = 0;
    }
    if (!again.layouts.empty()) {
      fail_at(again.layouts[0].at, "use: '{}' has its layouts where it stands first, at {}", name,
              to_string(first.at));
    }
    if (first.layer < 0) reader.finish();
    if (first.left_out) {
      leave_out(again, list);
      return;
    }
    if (first.block == nullptr && first.layer < 0) {
      fail_at(word.at, "use: '{}' is an input, not a layer", name);
    }
    NamedLayer named = name_element(again, list);
    named.path = first.path;
    named.trainable = first.trainable;
    named.block = first.block;
    named.arguments = first.arguments;
    named.layer = first.layer;
    if (first.block != nullptr) {
      write_out_block(named, again, list);
    } else {
      LayerSpec copy = model_.layers[static_cast<std::size_t>(first.layer)];
      copy.name = named.name;
      copy.inputs = again.inputs;
      copy.roles = again.roles;
      copy.layouts.clear();
      copy.blocks = list.blocks;
      copy.at = named.at;
      set_arguments(copy, element.layer.args);
      model_.layers.push_back(std::move(copy));
      list.last = {named.name};
    }
    list.add(local_name(named.name, list), named);
  }

  /// What one more use of a layer says otherwise than the first.
  static void set_arguments(LayerSpec& spec, const Value& given) {
    for (const Value::Entry& entry : given.map) {
      if (entry.key == "layer") continue;
      spec.layer.args.insert(entry.key, entry.at).value = entry.value;
      spec.use_arguments.push_back(entry.key);
    }
  }

  void check_no_recursion(const BlockSpec& block, const Location& at,
                          const LayerList& outer) const {
    if (outer.blocks.size() >= kMaxDepth) {
      fail_at(at, "blocks stand in each other more than {} deep", kMaxDepth);
    }
    for (const BlockUse& around : outer.blocks) {
      if (around.block == block.name) {
        fail_at(at, "block '{}' contains itself; a block may only use others", block.name);
      }
    }
  }

  void write_out_block(const NamedLayer& named, const LayerElement& element, LayerList& outer) {
    const BlockSpec& block = *named.block;
    check_no_recursion(block, named.at, outer);
    if (!element.roles.empty()) {
      fail_at(element.layer.at, "block '{}' takes its inputs as a list: inputs: [{}]", block.name,
              to_string(element.inputs));
    }
    if (element.inputs.size() != block.inputs.size()) {
      fail_at(named.at, "block '{}' takes {} input{}, not {}; see {}", block.name,
              block.inputs.size(), block.inputs.size() == 1 ? "" : "s", element.inputs.size(),
              to_string(block.inputs[0].at));
    }
    LayerList list(fmt::format("block '{}'", block.name));
    list.prefix = named.name + "/";
    list.path_prefix = named.path + "/";
    list.trainable = named.trainable;
    list.parameters = named.arguments;
    list.inputs = block.inputs.size();
    list.blocks = outer.blocks;
    list.blocks.insert(list.blocks.begin(), {block.name, named.at});
    LayerOutput output;
    try {
      for (std::size_t i = 0; i < block.inputs.size(); ++i) {
        const BlockSpec::Input& input = block.inputs[i];
        NamedLayer given{element.inputs[i].layer, input.at, input.at};
        given.output = element.inputs[i].output;
        list.add(input.name, given);
      }
      if (list.inputs == 1) list.last = element.inputs[0];
      write_out(block.layers, list);
      output = output_of(block, list);
    } catch (const Error& error) {
      throw Error(error.code(), error.what() + in_blocks({{block.name, named.at}}));
    }
    LayerSpec end;
    end.layer.at = end.at = named.at;
    end.name = named.name;
    end.path = named.path;
    end.inputs = {output};
    end.trainable = list.trainable;
    end.rematerialize = element.rematerialize;
    end.layouts = element.layouts;
    end.blocks = list.blocks;
    model_.layers.push_back(std::move(end));
    outer.last = {named.name};
  }

  LayerOutput output_of(const BlockSpec& block, const LayerList& list) const {
    if (!block.output.is_null()) {
      const Value word = substitute(block.output, list.parameters);
      return look_up_output(list, word.as_string("output"), word.at, list.what(), "stands in it");
    }
    if (list.last.layer.empty()) {
      fail_at(block.at, "block '{}' has no layers, and several inputs; name its output",
              block.name);
    }
    return list.last;
  }

  const ModelText& text_;
  ModelSpec& model_;
  std::size_t layers_ = 0;
  std::size_t letters_ = 0;
};

}  // namespace

void expand_layers(const Value& layers, const Value* outputs, const ModelText& text,
                   ModelSpec& model) {
  Expansion(text, model).run(layers, outputs);
}

}  // namespace meshwork::config
