#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "data/formats/mapped_file.h"

namespace meshwork::data {

/// Bytes on the heap, not cleared, many of them in huge pages.
struct HeapBytes {
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte[], Free> data;
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

  const std::string& path() const { return file_.path(); }

  /// The first `count` bytes, fewer if there are no more.
  HeapBytes head(std::size_t count) const;

  /// Throws Error unless the contents have exactly `size` bytes: at once for a plain file, in
  /// all() for a gzip file. `why` says where the size comes from: "shape [10, 28, 28] of uint8".
  void expect_size(std::size_t size, const std::string& why);

  /// Where the contents, of the size that is expected, stand when all() has been called.
  const std::byte* place() const { return gzip_ ? unpacked_.data.get() : file_.bytes().data(); }

  /// All contents; any number of threads may call it.
  std::span<const std::byte> all() const;

  /// Bytes of the contents; a gzip file is decompressed to find out.
  std::size_t size() const;

  bool is_packed() const { return gzip_; }

  /// Unpacks a gzip file; has the system begin to read a plain one.
  void prepare() const;

 private:
  MappedFile file_;
  bool gzip_ = false;
  mutable std::size_t expected_ = 0;
  std::string why_;
  mutable std::mutex mutex_;
  mutable HeapBytes unpacked_;
  mutable std::atomic<bool> is_unpacked_ = false;
};

}  // namespace meshwork::data
