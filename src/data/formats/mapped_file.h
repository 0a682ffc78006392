#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace meshwork::data {

/// A file mapped read-only into memory. Throws Error with ExitCode::kFile if it is no regular
/// file or cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Has the system begin to read all of it.
  void read_ahead() const;

  /// Takes the first `count` bytes out of resident memory. Whoever looks at them again reads them
  /// from the file again.
  void forget(std::size_t count) const;

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace meshwork::data
