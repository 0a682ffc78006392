#include "data/find_file.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/join.h"

namespace meshwork::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataVariable = "MESHWORK_DATA";
constexpr std::string_view kPacked = ".gz";

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
  if (file.ends_with(kPacked)) return {file, file.substr(0, file.size() - kPacked.size())};
  return {file, file + std::string(kPacked)};
}

/// An absolute path is looked for only there.
std::vector<std::string> places_of(const std::string& file,
                                   const std::vector<std::string>& directories) {
  if (fs::path(file).is_absolute()) return {""};
  return directories;
}

std::optional<std::string> existing_file(const std::string& file,
                                         const std::vector<std::string>& directories) {
  for (const std::string& directory : places_of(file, directories)) {
    for (const std::string& spelling : spellings(file)) {
      const fs::path path = (fs::path(directory) / spelling).lexically_normal();
      std::error_code ignored;
      if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) return path.string();
    }
  }
  return std::nullopt;
}

/// A directory as part of a pattern that stands for itself.
std::string escaped(const std::string& directory) {
  std::string text;
  for (const char c : directory) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

/// Appends files that fit.
void add_matches(const std::string& directory, const std::string& pattern,
                 std::vector<std::string>& paths) {
  const std::string whole = directory.empty() ? pattern : escaped(directory) + "/" + pattern;
  glob_t found{};
  if (::glob(whole.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const fs::path path = fs::path(found.gl_pathv[i]).lexically_normal();
      std::error_code ignored;
      if (!fs::is_directory(path, ignored)) paths.push_back(path.string());
    }
  }
  ::globfree(&found);
}

/// Files that fit, packed or not, each once and sorted.
std::vector<std::string> matches(const std::string& directory, const std::string& pattern) {
  std::vector<std::string> paths;
  for (const std::string& spelling : spellings(pattern)) add_matches(directory, spelling, paths);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  // A packed file beside itself unpacked is no other file.
  std::erase_if(paths, [unpacked = paths](const std::string& path) {
    return path.ends_with(kPacked) &&
           std::ranges::binary_search(unpacked, path.substr(0, path.size() - kPacked.size()));
  });
  return paths;
}

/// `wanted`: "neither 'a' nor 'a.gz'".
[[noreturn]] void fail_missing(const std::string& wanted, const std::string& file,
                               const std::vector<std::string>& directories,
                               const config::Location& at, const std::string& hint) {
  const bool is_set = !expand(std::string("$") + kDataVariable).empty();
  throw MissingData(fmt::format(
      "{}: found {}{}{}{}", config::to_string(at), wanted,
      fs::path(file).is_absolute() ? "" : fmt::format(" in {}", join(directories, ", ")),
      is_set ? "" : "; MESHWORK_DATA, where data sets can be kept, is not set",
      hint.empty() ? "" : "; hint: " + hint));
}

}  // namespace

std::vector<std::string> search_directories(const std::string& name, const std::string& folder,
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
  if (!root.empty() && !name.empty()) add(fs::path(root) / name);
  const fs::path beside = folder;
  add(beside);
  for (const std::string& entry : listed) {
    const std::string path = expand(entry);
    if (!path.empty()) add(beside / path);  // an absolute path replaces `beside`
  }
  if (!root.empty() && name.empty()) add(root);
  return directories;
}

std::string find_file(const std::string& file, const std::vector<std::string>& directories,
                      const config::Location& at, const std::string& hint) {
  if (const auto path = existing_file(file, directories)) return *path;
  fail_missing(fmt::format("neither '{}'", join(spellings(file), "' nor '")), file, directories, at,
               hint);
}

std::vector<std::string> find_files(const std::string& pattern,
                                    const std::vector<std::string>& directories,
                                    const config::Location& at, const std::string& hint) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return {find_file(pattern, directories, at, hint)};
  }
  if (const auto path = existing_file(pattern, directories)) return {*path};
  for (const std::string& directory : places_of(pattern, directories)) {
    std::vector<std::string> paths = matches(directory, pattern);
    if (!paths.empty()) return paths;
  }
  fail_missing(fmt::format("no file whose name fits '{}'", pattern), pattern, directories, at,
               hint);
}

std::string find_folder(const std::string& name, const std::vector<std::string>& directories,
                        const config::Location& at, const std::string& hint) {
  for (const std::string& directory : places_of(name, directories)) {
    const fs::path path = (fs::path(directory) / name / "").lexically_normal().parent_path();
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return path.string();
  }
  fail_missing(fmt::format("no folder '{}'", name), name, directories, at, hint);
}

}  // namespace meshwork::data
