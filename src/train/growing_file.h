#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace meshwork {

/// A file that grows by whole pieces: of one that fails nothing stays.
class GrowingFile {
 public:
  /// Of a file that is open to append.
  explicit GrowingFile(File file) : file_(std::move(file)), bytes_(file_.size()) {}

  /// The piece is in the file when it returns. Errors are those of File.
  void append(std::string_view piece);

  const std::string& path() const { return file_.path(); }
  /// Where the last whole piece ends.
  std::uint64_t bytes() const { return bytes_; }

 private:
  File file_;
  std::uint64_t bytes_;
};

/// The file as it was when it had `bytes`.
File open_at(const std::string& path, std::uint64_t bytes);

/// The same for a file of lines; where it has fewer bytes by now, up to the end of its last whole
/// line.
File open_lines_at(const std::string& path, std::uint64_t bytes);

}  // namespace meshwork
