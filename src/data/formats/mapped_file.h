#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace meshwork::data {

/// A file mapped read-only into memory; a small one is read. Throws Error with ExitCode::kFile if
/// it is no regular file or cannot be read. Where somebody cuts the file while it is mapped and one
/// reads behind its new end, the process says so and ends with that code: no exception can.
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
  bool is_mapped() const { return bytes_.data() != read_.data(); }

  std::string path_;
  std::span<const std::byte> bytes_;
  std::vector<std::byte> read_;  ///< of a small file
};

}  // namespace meshwork::data
