
#include <algorithm>
#include <filesystem>

#include "base/join.h"
#include "base/nearest.h"
#include "config/data_directories.h"
#include "config/sections.h"
#include "config/yaml.h"

namespace meshwork::config {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

fs::path folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

bool is_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

std::vector<fs::path> search_folders(const std::string& config_file) {
  const fs::path folder = folder_of(config_file);
  std::vector<fs::path> candidates = {folder / "datasets", folder / "../datasets", "datasets"};
  for (const std::string& installed : installed_directories("datasets")) {
    candidates.push_back(installed);
  }
  std::vector<fs::path> result;
  for (const fs::path& candidate : candidates) {
    const fs::path path = candidate.lexically_normal();
    if (std::find(result.begin(), result.end(), path) == result.end()) result.push_back(path);
  }
  return result;
}

/// Names of all descriptions in these folders, sorted.
std::vector<std::string> known_names(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> quoted(const std::vector<fs::path>& paths) {
  std::vector<std::string> result;
  for (const fs::path& path : paths) result.push_back(fmt::format("'{}'", path.string()));
  return result;
}

std::string find_by_name(const std::string& name, const Location& at, const std::string& file) {
  const std::vector<fs::path> folders = search_folders(file);
  for (const fs::path& folder : folders) {
    const fs::path path = folder / (name + ".yaml");
    if (is_file(path)) return path;
  }
  fail_at(at, "dataset '{}' is not described{}; looked for {}.yaml in {}", name,
          suggestion(name, known_names(folders)), name, join(quoted(folders), ", "));
}

/// A path starts in the folder of the configuration; on the command line, in the working directory.
std::string find_by_path(const std::string& path, const Location& at, const std::string& file) {
  std::vector<fs::path> candidates = {(folder_of(file) / path).lexically_normal(), path};
  if (at.line == 0) std::swap(candidates[0], candidates[1]);
  if (candidates[0] == candidates[1]) candidates.pop_back();
  for (const fs::path& candidate : candidates) {
    if (is_file(candidate)) return candidate;
  }
  fail_at(at, "dataset: there is no file {}", join(quoted(candidates), " or "));
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

Value read_description(const Value& name, const std::string& config_file) {
  const std::string word = name.as_string("dataset name");
  if (word.empty()) fail_at(name.at, "dataset name is empty");
  const std::string path = is_path(word) ? find_by_path(word, name.at, config_file)
                                         : find_by_name(word, name.at, config_file);
  Value description = load_yaml(path);
  if (!description.is_map()) {
    fail_at({path, 0, 0}, "a dataset description must be a map of keys, not {}",
            describe(description));
  }
  Value::Entry& entry = description.insert("name", name.at);
  if (entry.value.is_null()) {
    entry.value.kind = Value::Kind::kScalar;
    entry.value.scalar = fs::path(path).stem();
  }
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

}  // namespace meshwork::config
