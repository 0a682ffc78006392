#include "config/weights_sizes.h"

#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/join.h"
#include "config/expression_tree.h"
#include "config/parameters.h"
#include "config/weights_map.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

constexpr const char* kOption = "--sizes-of";
constexpr const char* kNeeds = "weights_map: needs";
/// Users cut it on purpose.
constexpr std::string_view kContext = "model.params.context";

/// `{rope: {theta: 1}}` gives rope_theta.
void add_flat(const Value& map, const std::string& before, Parameters& parameters) {
  for (const Value::Entry& entry : map.map) {
    const std::string name = before + entry.key;
    if (entry.value.is_map()) {
      add_flat(entry.value, name + "_", parameters);
    } else {
      parameters.try_emplace(name, entry.value);
    }
  }
}

struct Json {
  std::string file;
  Parameters keys = {};
};

Json flattened(const Value& json, const std::string& file) {
  Json result{.file = file};
  add_flat(json, "", result.keys);
  return result;
}

Json read_json(const std::string& source) {
  std::error_code status;
  const bool is_folder = std::filesystem::is_directory(source, status);
  const std::string file = is_folder ? source + "/config.json" : source;
  const Value json = load_yaml(file);  // JSON is YAML
  if (!json.is_map())
    fail_at({file, 0, 0}, "{}: a config.json is a map, not {}", kOption, describe(json));
  return flattened(json, file);
}

void add_names(const Expression& expression, std::set<std::string>& names) {
  if (expression.op == Operator::kName) names.insert(expression.name);
  for (const Expression& part : expression.parts) add_names(part, names);
}

/// The keys of a config.json that `$key` or `$(expression)` is made of.
std::set<std::string> names_in(const Value& value) {
  std::string_view text = value.scalar;
  std::set<std::string> names;
  if (!text.starts_with('$')) return names;
  text.remove_prefix(1);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  add_names(parse_expression(text, value.at), names);
  return names;
}

/// Of keys that config.json has; others are null.
Value value_of(const Value& expression, Parameters known) {
  for (const std::string& name : names_in(expression)) known.try_emplace(name);
  return substitute(expression, known);
}

std::string text_of(const Value& value) {
  return value.is_scalar() ? value.scalar : to_line(value);
}

/// The value of a key of config.json; nullptr where it is not there, or null.
const Value* given(const Json& json, const std::string& name) {
  const auto key = json.keys.find(name);
  return key != json.keys.end() && !key->second.is_null() ? &key->second : nullptr;
}

/// "rope_theta is 500000" for each key that an expression is made of and that is there.
std::vector<std::string> found_keys(const Value& expression, const Json& json) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(expression)) {
    const Value* value = given(json, name);
    if (value != nullptr) found.push_back(name + " is " + text_of(*value));
  }
  return found;
}

/// A value behind keys of maps alone, "model.params.width"; nullptr where there is none.
const Value* at_path(const Value& root, std::string_view path) {
  const std::size_t point = path.find('.');
  const Value::Entry* entry = root.is_map() ? root.find(path.substr(0, point)) : nullptr;
  if (entry == nullptr) return nullptr;
  return point == path.npos ? &entry->value : at_path(entry->value, path.substr(point + 1));
}

/// Numbers may be written otherwise: 1e-5 and 0.00001.
bool is_same(const Value& a, const Value& b) {
  if (a.is_bool() && b.is_bool()) return a.as_bool("a") == b.as_bool("b");
  if (a.is_real() && b.is_real()) return a.as_real("a") == b.as_real("b");
  return a.kind == b.kind && text_of(a) == text_of(b);
}

/// `option`: that of the command line which the file comes from.
void check_needs(const WeightsMap& map, const Json& json, const char* option) {
  for (const Value& needed : map.needs) {
    if (value_of(needed, json.keys).as_bool(kNeeds)) continue;
    std::vector<std::string> found;
    for (const std::string& name : names_in(needed)) {
      const Value* value = given(json, name);
      found.push_back(name + " is " + (value != nullptr ? text_of(*value) : "not there"));
    }
    fail_at(needed.at,
            "{}: the model of {} is none of this configuration, for which {} must hold: {}", option,
            json.file, needed.scalar, join(found, ", "));
  }
}

WeightsMap map_of(const Value& root, const std::string& file) {
  const Value::Entry* const entry = root.find("weights_map");
  if (entry == nullptr) {
    fail_at({file, 0, 0}, "{}: there is no weights_map, which says what the sizes are called",
            kOption);
  }
  WeightsMap map = read_weights_map(entry->value, file);
  if (map.sizes.empty()) fail_at(entry->at, "{}: {} has no key 'sizes'", kOption, map.file);
  return map;
}

}  // namespace

std::vector<std::string> check_model_beside(const WeightsMap& map, const Value& root,
                                            const std::string& weights) {
  const std::string file = std::filesystem::path(weights).replace_filename("config.json").string();
  if (!is_regular_file(file)) return {};
  const Value beside = load_yaml(file);
  if (!beside.is_map() || beside.find("model_type") == nullptr) return {};  // another program's
  const Json json = flattened(beside, file);
  check_needs(map, json, "--from");
  std::vector<std::string> notes;
  for (const Value::Entry& size : map.sizes) {
    const Value* here = at_path(root, size.key);
    if (here == nullptr || size.key == kContext) continue;
    const Value there = value_of(size.value, json.keys);
    if (there.is_null() || is_same(there, *here)) continue;
    const std::vector<std::string> found = found_keys(size.value, json);
    const std::string why = found.empty() ? "" : fmt::format(" ({})", join(found, ", "));
    notes.push_back(fmt::format(
        "{}: the model of these weights has {} {}{}, this one has {}; --sizes-of {} "
        "takes over its sizes",
        file, size.key, text_of(there), why, here->is_null() ? "null" : text_of(*here), file));
  }
  return notes;
}

std::vector<std::string> assignments_of_sizes(const Value& root, const std::string& file,
                                              const std::string& source) {
  const WeightsMap map = map_of(root, file);
  const Json json = read_json(source);
  check_needs(map, json, kOption);
  std::vector<std::string> assignments;
  for (const Value::Entry& size : map.sizes) {
    const std::string what = "weights_map: sizes: '" + size.key + "'";
    const Value value = value_of(size.value, json.keys);
    if (value.is_null()) continue;
    value.as_string(what);  // no list and no map
    assignments.push_back(size.key + "=" + to_line(value));
  }
  for (const Value::Entry& removed : map.removes) {
    const std::string what = "weights_map: removes: '" + removed.key + "'";
    const Value value = value_of(removed.value, json.keys);
    if (!value.is_null() && value.as_bool(what)) assignments.push_back(removed.key + "=null");
  }
  return assignments;
}

}  // namespace meshwork::config
