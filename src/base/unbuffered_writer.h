#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"

namespace meshwork {

/// Writes a new file from its begin to its end, past the cache of the system where the file system
/// can: what is written once and hardly read does not drive out what is read again and again, and
/// takes less time of the processor. Throws std::bad_alloc, and the errors of File.
class UnbufferedWriter {
 public:
  explicit UnbufferedWriter(const std::string& path);

  /// Bytes that were appended so far.
  std::uint64_t size() const { return written_ + filled_; }
  void append(const void* data, std::size_t bytes);
  /// Returns when all of it is on the disk.
  void finish();

 private:
  void write_block();

  File file_;
  std::shared_ptr<std::byte> block_;
  std::size_t filled_ = 0;  ///< bytes of the block
  std::uint64_t written_ = 0;
};

}  // namespace meshwork
