#include "data/formats/folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"

namespace meshwork::data {
namespace {

namespace fs = std::filesystem;

bool has_ending(std::string name, const std::vector<std::string_view>& endings) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

[[noreturn]] void fail_folder(const std::string& folder, const std::error_code& code) {
  fail(ExitCode::kFile, "{}: cannot read the folder: {}", folder, code.message());
}

/// Calls `visit` with every entry.
template <class Visit>
void for_each_entry(const std::string& folder, Visit visit) {
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  while (!code && entry != fs::directory_iterator()) {
    visit(*entry);
    entry.increment(code);
  }
  if (code) fail_folder(folder, code);
}

/// `folder` and all folders below it, as paths, sorted.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for_each_entry(std::string(folders[i]), [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (!entry.is_symlink(ignored) && entry.is_directory(ignored)) {
        folders.push_back(entry.path().string());
      }
    });
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void add_files(const FileKind& kind, const std::string& folder, std::vector<std::string>& files) {
  for (const std::string& one : folders_in(folder)) {
    const std::size_t before = files.size();
    for_each_entry(one, [&](const fs::directory_entry& entry) {
      const std::string path = entry.path().string();
      std::error_code ignored;
      if (has_ending(path, kind.endings) && !entry.is_directory(ignored)) files.push_back(path);
      if (has_ending(path, kind.not_read)) fail(ExitCode::kFile, "{}: {}", path, kind.instead);
    });
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
}

void check_found(const FileKind& kind, const std::string& folder, const FolderFiles& found) {
  if (!found.files.empty()) return;
  const std::vector<std::string> endings(kind.endings.begin(), kind.endings.end());
  fail(ExitCode::kFile, "{}: no {}s ({}) in this folder", folder, kind.one, join(endings, ", "));
}

}  // namespace

std::vector<std::string> class_names(const std::string& folder) {
  std::vector<std::string> names;
  for_each_entry(folder, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (entry.is_directory(ignored) && !name.starts_with('.')) names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

FolderFiles list_files(const FileKind& kind, const std::string& folder,
                       const std::vector<std::string>& classes) {
  FolderFiles found;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const fs::path place = fs::path(folder) / classes[i];
    std::error_code ignored;
    if (fs::is_directory(place, ignored)) add_files(kind, place.string(), found.files);
    found.labels.resize(found.files.size(), static_cast<std::int32_t>(i));
  }
  check_found(kind, folder, found);
  return found;
}

FolderFiles list_files(const FileKind& kind, const std::string& folder) {
  FolderFiles found;
  add_files(kind, folder, found.files);
  check_found(kind, folder, found);
  return found;
}

std::vector<std::string> masks_of(const std::vector<std::string>& images, const std::string& folder,
                                  const std::string& masks) {
  std::vector<std::string> files;
  for (const std::string& image : images) {
    const fs::path within = fs::path(image).lexically_relative(folder);
    const std::string mask = (fs::path(masks) / within).replace_extension(".png").string();
    if (!is_regular_file(mask)) {
      fail(ExitCode::kFile, "{}: there is no mask {}; add it, or take the image away", image, mask);
    }
    files.push_back(mask);
  }
  return files;
}

}  // namespace meshwork::data
