#include "config/standalone.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "config/named_file.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

namespace fs = std::filesystem;

/// Where the files of a description are looked for: beside it, then in the folders that it lists,
/// of which $NAME stays as it is.
Value directories_of(const Value& dataset) {
  const fs::path beside = fs::absolute(folder_of(dataset.at.file)).lexically_normal();
  Value directories;
  directories.kind = Value::Kind::kList;
  const auto add = [&](const Value& listed) {
    const bool is_variable = listed.scalar.starts_with('$');
    const std::string text =
        is_variable ? listed.scalar : (beside / listed.scalar).lexically_normal().string();
    const bool is_there = std::ranges::any_of(
        directories.list, [&](const Value& other) { return other.scalar == text; });
    if (!is_there) directories.list.push_back(Value::of_text(text));
  };
  add(Value::of_text(beside.string()));
  const Value::Entry* listed = dataset.find("directories");
  if (listed == nullptr) return directories;
  if (!listed->value.is_list()) add(listed->value);
  for (const Value& directory : listed->value.list) add(directory);
  return directories;
}

}  // namespace

std::string standalone_text(const Config& config, const std::string& run_directory) {
  Value root = parse_yaml(config.text, config.file);
  root.insert("run_directory", {}).value = Value::of_text(run_directory);
  if (!config.dataset.is_map()) return to_yaml(root);
  Value dataset = config.dataset;
  dataset.insert("directories", {}).value = directories_of(config.dataset);
  root.insert("dataset", {}).value = std::move(dataset);
  return to_yaml(root);
}

}  // namespace meshwork::config
