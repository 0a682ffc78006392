#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
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

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Bytes on the heap, not cleared.
struct HeapBytes {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;

  static HeapBytes of_size(std::size_t size);
  std::span<std::byte> span() { return {data.get(), size}; }
  std::span<const std::byte> span() const { return {data.get(), size}; }
};

/// The contents of a file, plain or gzip (told by its first bytes, not by its name). A plain file
/// is mapped; a gzip file is decompressed once, when all of it is first asked for.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);

  const std::string& path() const { return path_; }

  /// The first `count` bytes, fewer if there are no more.
  HeapBytes head(std::size_t count) const;

  /// Throws Error unless the contents have exactly `size` bytes: at once for a plain file, in
  /// all() for a gzip file. `why` says where the size comes from: "shape [10, 28, 28] of uint8".
  void expect_size(std::size_t size, const std::string& why);

  /// All contents; any number of threads may call it.
  std::span<const std::byte> all() const;

 private:
  std::string path_;
  MappedFile file_;
  bool gzip_ = false;
  std::size_t expected_ = 0;
  std::string why_;
  mutable std::mutex mutex_;
  mutable HeapBytes unpacked_;
  mutable std::atomic<bool> is_unpacked_ = false;
};

}  // namespace meshwork::data
