#include <algorithm>
#include <optional>

#include "base/letters.h"
#include "base/nearest.h"
#include "config/sections.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

/// How far down the path an assignment has come.
struct Step {
  Location at;
  std::string_view path;  ///< whole: "model.layers.d1.units"
  std::string_view rest;  ///< what is left: "units"
  std::string shape;      ///< what was passed, elements of lists as #: "model.layers.#"

  std::string passed() const {
    std::string_view done = path.substr(0, path.size() - rest.size());
    if (done.ends_with('.')) done.remove_suffix(1);
    return std::string(done);
  }
};

/// Position of `separator` outside quotes.
std::size_t find_unquoted(std::string_view text, char separator) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_open = i == 0 || text[i - 1] == '.';
    if (quote == 0 && text[i] == separator) return i;
    if (quote != 0 && text[i] == quote) {
      quote = 0;
    } else if (quote == 0 && may_open && (text[i] == '"' || text[i] == '\'')) {
      quote = text[i];
    }
  }
  return std::string_view::npos;
}

bool is_pattern_map(const Step& step) {
  return step.shape == "layout_map" || step.shape == "optimizer_layout";
}

/// The layers of the model, or of a block.
bool is_layer_list(const Step& step) {
  if (step.shape == "model.layers") return true;
  return step.shape.starts_with("blocks.") && step.shape.ends_with(".layers") &&
         std::count(step.shape.begin(), step.shape.end(), '.') == 2;
}

bool is_layer(const Step& step) {
  if (!step.shape.ends_with(".#")) return false;
  Step list = step;
  list.shape.resize(step.shape.size() - 2);
  return is_layer_list(list);
}

bool is_class(const Step& step) {
  if (is_layer(step)) return true;
  for (const char* shape : {"compile.optimizer", "compile.loss", "compile.metrics.#",
                            "compile.weighted_metrics.#", "fit.callbacks.#"}) {
    if (step.shape == shape) return true;
  }
  return false;
}

/// Takes `length` characters and the point after them off the rest.
void advance(Step& step, std::size_t length, std::string_view shape) {
  step.rest.remove_prefix(length);
  if (!step.rest.empty()) {
    if (step.rest[0] != '.' || step.rest.size() == 1) {
      fail_at(step.at, "the path '{}' is broken near '{}'; write a.b.c=value", step.path,
              step.rest);
    }
    step.rest.remove_prefix(1);
  }
  if (!step.shape.empty()) step.shape += '.';
  step.shape += shape;
}

/// Length of the next part of the path, quotes included; a key that exists is taken whole, points
/// and all, the longest first.
std::size_t part_length(const Step& step, const std::vector<std::string>& known) {
  const std::string_view rest = step.rest;
  std::size_t longest = 0;
  for (const std::string& key : known) {
    const bool fits =
        rest.starts_with(key) && (rest.size() == key.size() || rest[key.size()] == '.');
    if (fits) longest = std::max(longest, key.size());
  }
  if (longest > 0) return longest;
  if (rest[0] == '"' || rest[0] == '\'') {
    const std::size_t end = rest.find(rest[0], 1);
    if (end == std::string_view::npos) fail_at(step.at, "the quote at {} is not closed", rest);
    return end + 1;
  }
  if (is_pattern_map(step)) return rest.size();
  return std::min(rest.find('.'), rest.size());
}

std::string next_part(const Step& step, const std::vector<std::string>& known) {
  std::string_view part = step.rest.substr(0, part_length(step, known));
  if (part.size() > 1 && (part[0] == '"' || part[0] == '\'') && part.back() == part[0]) {
    part = part.substr(1, part.size() - 2);
  }
  if (part.empty()) fail_at(step.at, "the path '{}' has an empty part", step.path);
  return std::string(part);
}

void assign(Value& node, Step step, const Value& value);
void assign_in_map(Value& node, Step step, const Value& value);

/// A map of one class without arguments.
Value bare_class(const std::string& name, const Location& at) {
  Value value;
  value.at = at;
  value.insert(name, at);
  return value;
}

/// `Dense: {units: 3}` with units left to go: enters the arguments. The name of a class may be
/// given (Dense.units), and another class takes the place of this one.
void assign_in_class(Value& node, Step step, const Value& value) {
  if (node.is_scalar()) node = bare_class(node.scalar, node.at);
  const std::string part = next_part(step, node.keys());
  const bool same = node.find(part) != nullptr;
  if (same && node.map.size() > 1) {
    // The loss of each output.
    assign_in_map(node, std::move(step), value);
    return;
  }
  const bool other = !same && part[0] >= 'A' && part[0] <= 'Z';
  if (other) node = bare_class(part, step.at);
  if (node.is_null()) {
    fail_at(step.at, "{} is not in the file; name a class, too: {}.Class.{}=...", step.passed(),
            step.passed(), part);
  }
  if (node.map.size() != 1) fail_at(step.at, "{} is not a class with arguments", step.passed());
  if (same || other) advance(step, part_length(step, node.keys()), part);
  step.shape += ".arguments";
  assign(node.map[0].value, step, value);
}

std::vector<std::string> layer_names(const Value& layers) {
  std::vector<std::string> names;
  for (const Value& layer : layers.list) {
    const bool has_args = layer.is_map() && layer.map.size() == 1;
    const Value::Entry* name = has_args ? layer.map[0].value.find("name") : nullptr;
    names.push_back(name == nullptr ? "" : name->value.scalar);
  }
  return names;
}

std::vector<std::string> callback_names(const Value& callbacks) {
  std::vector<std::string> names;
  for (const Value& callback : callbacks.list) {
    const bool has_args = callback.is_map() && callback.map.size() == 1;
    names.push_back(has_args ? callback.map[0].key : callback.scalar);
  }
  return names;
}

/// What elements of a list are called beside their numbers; "" for one without a name.
std::vector<std::string> element_names(const Value& list, const Step& step) {
  if (is_layer_list(step)) return layer_names(list);
  if (step.shape == "fit.callbacks") return callback_names(list);
  return {};
}

std::optional<std::size_t> element_index(const std::string& part,
                                         const std::vector<std::string>& names, std::size_t count) {
  const auto named = std::find(names.begin(), names.end(), part);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  const bool number = part.size() < 9 && std::all_of(part.begin(), part.end(), is_digit);
  if (!number || std::stoul(part) >= count) return std::nullopt;
  return std::stoul(part);
}

void assign_in_list(Value& node, Step step, const Value& value) {
  const std::vector<std::string> names = element_names(node, step);
  const std::string part = next_part(step, names);
  const auto index = element_index(part, names, node.list.size());
  if (!index) {
    std::vector<std::string> given = names;
    given.erase(std::remove(given.begin(), given.end(), ""), given.end());
    fail_at(step.at, "{} has no element '{}'; it has {}, counted from 0{}", step.passed(), part,
            node.list.size(), suggestion(part, given));
  }
  advance(step, part_length(step, names), "#");
  if (step.rest.empty() && value.is_null() && is_class(step)) {
    node.list.erase(node.list.begin() + static_cast<std::ptrdiff_t>(*index));
  } else {
    assign(node.list[*index], step, value);
  }
}

void assign_in_map(Value& node, Step step, const Value& value) {
  const std::string part = next_part(step, node.keys());
  const bool known = node.find(part) != nullptr;
  const bool patterns = is_pattern_map(step);
  const std::string map = step.passed();
  advance(step, part_length(step, node.keys()), part);
  const bool is_parameter = step.shape == "model.params." + part;
  if (is_parameter && !known) {
    fail_at(step.at, "model has no parameter '{}'{}", part, suggestion(part, node.keys()));
  }
  const bool removes = step.rest.empty() && value.is_null() && !is_parameter;
  if (removes && known) {
    node.take(part);
    return;
  }
  if (removes && patterns) {
    fail_at(step.at, "{} has no key '{}' to remove{}", map, part, suggestion(part, node.keys()));
  }
  if (node.is_null()) node.at = step.at;
  Value::Entry& entry = node.insert(part, step.at);
  if (step.rest.empty()) entry.at = step.at;
  assign(entry.value, step, value);
}

void assign(Value& node, Step step, const Value& value) {
  if (step.rest.empty()) {
    node = value;
  } else if (is_class(step)) {
    assign_in_class(node, std::move(step), value);
  } else if (node.is_list()) {
    assign_in_list(node, std::move(step), value);
  } else if (node.is_scalar() && step.shape == "dataset") {
    const Value name = node;
    node = {};
    node.at = name.at;
    node.insert("name", name.at).value = name;
    assign_in_map(node, std::move(step), value);
  } else if (node.is_scalar()) {
    fail_at(step.at, "{} is {}; it has no keys", step.passed(), describe(node));
  } else {
    assign_in_map(node, std::move(step), value);
  }
}

void apply_override(Value& root, const std::string& assignment) {
  const Location at{fmt::format("command line: '{}'", assignment), 0, 0};
  const std::size_t equals = find_unquoted(assignment, '=');
  if (equals == std::string::npos || equals == 0) {
    fail_at(at, "is no assignment; write key=value, such as fit.epochs=3");
  }
  const std::string text = assignment.substr(equals + 1);
  if (text.find_first_not_of(" \t\n") == std::string::npos) {
    fail_at(at, "has no value; null removes the key, '\"\"' is an empty word");
  }
  const std::string_view path = std::string_view(assignment).substr(0, equals);
  assign(root, {at, path, path, ""}, parse_yaml_at(text, at));
}

}  // namespace

void apply_overrides(Value& root, const Location& whole, const Overrides& overrides) {
  if (root.is_null()) fail_at(whole, "the file is empty");
  if (!root.is_map()) {
    fail_at(root.at, "the file must be a map of keys, such as 'model:', not {}", describe(root));
  }
  for (const std::string& assignment : overrides.assignments) apply_override(root, assignment);
  if (!overrides.device.empty()) apply_override(root, "device=" + overrides.device);
  root.at = whole;
}

}  // namespace meshwork::config
