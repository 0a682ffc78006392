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

/// `option`: that of the command line which the file comes from.
void check_needs(const WeightsMap& map, const Json& json, const char* option) {
  for (const Value& needed : map.needs) {
    if (value_of(needed, json.keys).as_bool(kNeeds)) continue;
    std::vector<std::string> found;
    for (const std::string& name : names_in(needed)) {
      const auto key = json.keys.find(name);
      const bool is_there = key != json.keys.end() && !key->second.is_null();
      found.push_back(name + " is " + (is_there ? text_of(key->second) : "not there"));
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

void check_model_beside(const WeightsMap& map, const std::string& weights) {
  const std::string file = std::filesystem::path(weights).replace_filename("config.json").string();
  if (map.needs.empty() || !is_regular_file(file)) return;
  const Value json = load_yaml(file);
  if (!json.is_map() || json.find("model_type") == nullptr) return;  // another program's
  check_needs(map, flattened(json, file), "--from");
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
