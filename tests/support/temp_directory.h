#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace meshwork::test {

/// A new empty directory that goes away with the object.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "meshwork.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

  /// Whether a file in it was begun and neither got its name nor was removed.
  bool has_partial_files() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.path().extension() == ".partial") return true;
    }
    return false;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// As a new file: one that is written over waits for the disk on some file systems.
inline void write_text(const std::string& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace meshwork::test
