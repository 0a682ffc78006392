#include "config/named_file.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/join.h"
#include "base/nearest.h"

namespace meshwork::config {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

/// Each once, written alike.
std::vector<fs::path> normal(const std::vector<std::string>& folders) {
  std::vector<fs::path> result;
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder).lexically_normal();
    if (std::find(result.begin(), result.end(), path) == result.end()) result.push_back(path);
  }
  return result;
}

/// Names of all YAML files in these folders, sorted.
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

std::string find_by_path(const std::string& path, const Location& at, const std::string& what,
                         const std::string& config_file) {
  std::vector<fs::path> candidates = {(fs::path(folder_of(config_file)) / path).lexically_normal(),
                                      path};
  if (at.line == 0) std::swap(candidates[0], candidates[1]);
  if (candidates[0] == candidates[1]) candidates.pop_back();
  for (const fs::path& candidate : candidates) {
    if (is_regular_file(candidate)) return candidate;
  }
  fail_at(at, "{}: there is no file {}", what, join(quoted(candidates), " or "));
}

}  // namespace

std::string folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string find_named_file(const Value& name, const std::string& what,
                            const std::vector<std::string>& folders,
                            const std::string& config_file) {
  const std::string word = name.as_string(what + " name");
  if (word.empty()) fail_at(name.at, "{} name is empty", what);
  if (is_path(word)) return find_by_path(word, name.at, what, config_file);
  const std::vector<fs::path> candidates = normal(folders);
  for (const fs::path& folder : candidates) {
    const fs::path path = folder / (word + ".yaml");
    if (is_regular_file(path)) return path;
  }
  fail_at(name.at, "{} '{}' is not described{}; looked for {}.yaml in {}", what, word,
          suggestion(word, known_names(candidates)), word, join(quoted(candidates), ", "));
}

}  // namespace meshwork::config
