#include <filesystem>

#include "config/data_directories.h"
#include "config/load_dataset.h"
#include "config/named_file.h"
#include "config/sections.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

/// Folders of descriptions.
std::vector<std::string> search_folders(const std::string& config_file) {
  const std::string folder = folder_of(config_file);
  std::vector<std::string> folders{folder + "/datasets", folder + "/../datasets", "datasets"};
  for (const std::string& installed : installed_directories("datasets")) {
    folders.push_back(installed);
  }
  return folders;
}

/// Puts the keys of `changes` over those of `base`, maps inside maps alike; null removes a key.
void merge(Value& base, const Value& changes) {
  for (const Value::Entry& change : changes.map) {
    Value::Entry& entry = base.insert(change.key, change.at);
    if (change.value.is_null()) {
      base.take(change.key);
    } else if (change.value.is_map() && entry.value.is_map()) {
      merge(entry.value, change.value);
    } else {
      entry.at = change.at;
      entry.value = change.value;
    }
  }
}

/// Gives a description without a name that of its file.
void add_name(Value& description, const std::string& path, const Location& at) {
  Value::Entry& entry = description.insert("name", at);
  if (!entry.value.is_null()) return;
  entry.value.kind = Value::Kind::kScalar;
  entry.value.scalar = std::filesystem::path(path).stem();
}

Value read_description(const Value& name, const std::string& config_file) {
  const std::string path =
      find_named_file(name, "dataset", search_folders(config_file), config_file);
  Value description = load_yaml(path);
  if (!description.is_map()) {
    fail_at({path, 0, 0}, "a dataset description must be a map of keys, not {}",
            describe(description));
  }
  add_name(description, path, name.at);
  return description;
}

}  // namespace

Value read_dataset(const Value& value, const std::string& file) {
  if (value.is_scalar()) return read_description(value, file);
  if (!value.is_map()) {
    fail_at(value.at, "dataset must be a name, a path to a .yaml file or a map of keys, not {}",
            describe(value));
  }
  Value keys = value;
  if (keys.at.line == 0) keys.at = {file, 0, 0};
  const Value::Entry* name = keys.find("name");
  if (name == nullptr || keys.find("format") != nullptr) return keys;
  Value description = read_description(name->value, file);
  keys.take("name");
  merge(description, keys);
  return description;
}

Value load_dataset(const std::string& file, const Overrides& overrides) {
  const Location whole{file, 0, 0};
  Value root = load_yaml(file);
  const bool is_description = root.find("format") != nullptr;
  if (is_description) {
    add_name(root, file, whole);
    Value configuration;
    configuration.insert("dataset", whole).value = std::move(root);
    root = std::move(configuration);
  }
  apply_overrides(root, whole, overrides);
  for (const Value::Entry& entry : root.map) {
    if (!is_description || entry.key == "dataset") continue;
    fail_at(entry.at, "{} describes a dataset; write dataset.{}=..", file, entry.key);
  }
  const Value::Entry* dataset = root.find("dataset");
  if (dataset != nullptr && !dataset->value.is_null()) return read_dataset(dataset->value, file);
  fail_at(whole, "no dataset; give a configuration that names one, or the description of one");
}

}  // namespace meshwork::config
