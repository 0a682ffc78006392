#include "data/find_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace meshwork::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataVariable = "MESHWORK_DATA";

/// "$NAME/rest" with the variable's value; "" if it is not set.
std::string expand(const std::string& path) {
  if (!path.starts_with('$')) return path;
  const std::size_t slash = std::min(path.find('/'), path.size());
  const char* value = std::getenv(path.substr(1, slash - 1).c_str());
  if (value == nullptr || *value == '\0') return {};
  return value + path.substr(slash);
}

/// As named first, then the other of packed and unpacked.
std::vector<std::string> spellings(const std::string& file) {
  constexpr std::string_view kPacked = ".gz";
  if (file.ends_with(kPacked)) return {file, file.substr(0, file.size() - kPacked.size())};
  return {file, file + std::string(kPacked)};
}

}  // namespace

std::vector<std::string> search_directories(const std::string& name,
                                            const std::string& description_file,
                                            const std::vector<std::string>& listed) {
  std::vector<std::string> directories;
  const auto add = [&](const fs::path& path) {
    const fs::path normal = path.lexically_normal();
    std::string directory = (normal.has_filename() ? normal : normal.parent_path()).string();
    if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
      directories.push_back(std::move(directory));
    }
  };
  const std::string root = expand(std::string("$") + kDataVariable);
  if (!root.empty()) add(fs::path(root) / name);
  fs::path beside = fs::path(description_file).parent_path();
  if (beside.empty()) beside = ".";
  add(beside);
  for (const std::string& entry : listed) {
    const std::string path = expand(entry);
    if (!path.empty()) add(beside / path);  // an absolute path replaces `beside`
  }
  return directories;
}

std::string find_file(const std::string& file, const std::vector<std::string>& directories,
                      const config::Location& at, const std::string& hint) {
  std::vector<std::string> places = directories;
  if (fs::path(file).is_absolute()) places = {""};
  for (const std::string& directory : places) {
    for (const std::string& spelling : spellings(file)) {
      const fs::path path = (fs::path(directory) / spelling).lexically_normal();
      std::error_code ignored;
      if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) return path.string();
    }
  }
  const bool is_set = !expand(std::string("$") + kDataVariable).empty();
  fail(ExitCode::kFile, "{}: found neither '{}'{}{}{}", config::to_string(at),
       fmt::join(spellings(file), "' nor '"),
       fs::path(file).is_absolute() ? "" : fmt::format(" in {}", fmt::join(places, ", ")),
       is_set ? "" : "; MESHWORK_DATA, where data sets can be kept, is not set",
       hint.empty() ? "" : "; hint: " + hint);
}

}  // namespace meshwork::data
