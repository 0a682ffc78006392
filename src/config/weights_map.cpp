#include "config/weights_map.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "config/data_directories.h"
#include "config/named_file.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

constexpr const char* kKey = "weights_map";

PathPattern pattern_of(const std::string& prefix, const std::string& key, const Location& at) {
  if (key.empty()) fail_at(at, "{}: a pattern is empty", kKey);
  PathPattern alone(key, at, kKey);  // says what is wrong with it by itself
  if (prefix.empty()) return alone;
  return {fmt::format("(?:{})?(?:{})", prefix, key), at, kKey};
}

std::vector<std::string> read_paths(const Value& value, const std::string& what) {
  std::vector<std::string> paths;
  if (!value.is_list()) {
    paths.push_back(value.as_string(what));
  } else {
    for (const Value& path : value.list) paths.push_back(path.as_string(what));
  }
  if (paths.empty()) fail_at(value.at, "{} names no variable; leave_out lists what is none", what);
  return paths;
}

void check_parts(const TensorRule& rule, const std::string& what) {
  const bool has_part = rule.rearrange && !rule.rearrange->part.empty();
  if (rule.to.size() > 1 && !has_part) {
    fail_at(rule.at,
            "{}: {} variables, but rearrange says not how they lie in the tensor; give its parts a "
            "name before '->' alone, as in 'in (part out) -> in out'",
            what, rule.to.size());
  }
  if (rule.to.size() == 1 && has_part) {
    fail_at(rule.at, "{}: '{}' has '{}' before '->' alone, which counts the variables of a list",
            what, rule.rearrange->text, rule.rearrange->part);
  }
  if (!rule.at_index.empty() && rule.to.size() > 1) {
    fail_at(rule.at, "{}: at is '{}', a place in one variable, but there are {}", what,
            rule.at_index, rule.to.size());
  }
  if (rule.crop.empty()) return;
  const bool is_first =
      rule.rearrange && std::any_of(rule.rearrange->stored.begin(), rule.rearrange->stored.end(),
                                    [&](const auto& names) { return names.front() == rule.crop; });
  if (!is_first || has_part) {
    fail_at(rule.at,
            "{}: crop is '{}', which must begin a dimension of the file in rearrange, of which "
            "there are no parts",
            what, rule.crop);
  }
}

TensorRule read_rule(const Value::Entry& entry, const std::string& prefix) {
  const std::string what = fmt::format("{}: '{}'", kKey, entry.key);
  TensorRule rule{.pattern = pattern_of(prefix, entry.key, entry.at), .key = entry.key};
  rule.at = entry.at;
  if (!entry.value.is_map()) {
    rule.to = read_paths(entry.value, what);
  } else {
    Reader reader(entry.value, what);
    const Value* rearrange = reader.find("rearrange");
    rule.crop = reader.get("crop", "");
    rule.at_index = reader.get("at", "");
    rule.optional = reader.get("optional", false);
    const Value* to = reader.find("to");
    reader.finish();
    rule.to = read_paths(to != nullptr ? *to : reader.require("to"), what + ": to");
    if (rearrange != nullptr) {
      rule.rearrange = read_rearrangement(*rearrange, what + ": rearrange");
    }
  }
  check_parts(rule, what);
  return rule;
}

/// A list of texts, which are called `what`; none where it is left out.
std::vector<Value> read_texts(const Value* texts, const std::string& key, const char* what) {
  if (texts == nullptr) return {};
  if (!texts->is_list()) {
    fail_at(texts->at, "{}: {} must be a list of {}, not {}", kKey, key, what, describe(*texts));
  }
  for (const Value& text : texts->list) text.as_string(fmt::format("{}: {}", kKey, key));
  return texts->list;
}

/// A map of paths and expressions; none where it is left out.
std::vector<Value::Entry> read_expressions(const Value* map, const std::string& key) {
  if (map == nullptr) return {};
  if (!map->is_map()) {
    fail_at(map->at, "{}: {} must be a map of keys and expressions, not {}", kKey, key,
            describe(*map));
  }
  for (const Value::Entry& entry : map->map) {
    entry.value.as_string(fmt::format("{}: {}: '{}'", kKey, key, entry.key));
  }
  return map->map;
}

WeightsMap read_map(const Value& value, const std::string& file) {
  Reader reader(value, kKey);
  const std::string prefix = reader.get("prefix", "");
  const Value* tensors = reader.find("tensors");
  const Value* leave_out = reader.find("leave_out");
  const Value* may_lack = reader.find("may_lack");
  const Value* sizes = reader.find("sizes");
  const Value* removes = reader.find("removes");
  const Value* needs = reader.find("needs");
  reader.finish();
  WeightsMap map{.file = file};
  map.sizes = read_expressions(sizes, "sizes");
  map.removes = read_expressions(removes, "removes");
  map.needs = read_texts(needs, "needs", "expressions");
  const Value& rules = tensors != nullptr ? *tensors : reader.require("tensors");
  if (!rules.is_map()) {
    fail_at(rules.at, "{}: tensors must be a map of patterns and paths, not {}", kKey,
            describe(rules));
  }
  for (const Value::Entry& entry : rules.map) map.tensors.push_back(read_rule(entry, prefix));
  for (const Value& pattern : read_texts(leave_out, "leave_out", "patterns")) {
    map.leave_out.push_back({.pattern = pattern_of(prefix, pattern.scalar, pattern.at),
                             .key = pattern.scalar,
                             .at = pattern.at});
  }
  for (const Value& pattern : read_texts(may_lack, "may_lack", "patterns")) {
    map.may_lack.push_back(pattern_of("", pattern.scalar, pattern.at));
  }
  return map;
}

}  // namespace

std::string weights_map_file(const Value& name, const std::string& config_file) {
  std::vector<std::string> folders{folder_of(config_file) + "/weights", "configs/weights"};
  for (const std::string& folder : installed_directories("configs/weights")) {
    folders.push_back(folder);
  }
  return find_named_file(name, kKey, folders, config_file);
}

WeightsMap read_weights_map(const Value& value, const std::string& config_file) {
  if (value.is_map()) return read_map(value, to_string(value.at));
  const std::string file = weights_map_file(value, config_file);
  const Value map = load_yaml(file);
  if (!map.is_map()) fail_at({file, 0, 0}, "a weights_map must be a map of keys");
  return read_map(map, file);
}

std::vector<std::string> paths_for(const TensorRule& rule, const std::string& name) {
  std::vector<std::string> paths;
  if (!rule.pattern.matches(name)) return paths;
  for (const std::string& path : rule.to) paths.push_back(rule.pattern.substituted(name, path));
  return paths;
}

std::int64_t index_for(const TensorRule& rule, const std::string& name) {
  const std::string text = rule.pattern.substituted(name, rule.at_index);
  std::int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc{} && end == text.data() + text.size() ? index : -1;
}

}  // namespace meshwork::config
