#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/growing_file.h"

namespace meshwork {

/// A file of scalars as TensorBoard reads it: records (length, data and a checksum of each) of
/// protocol-buffer messages `Event`. Errors are those of File.
class EventFile {
 public:
  /// Creates it in a directory, under a name by which TensorBoard knows such files and in which
  /// `id` stands: "events.out.tfevents.1764381772.host.71.0.ID.v2".
  EventFile(const std::string& directory, const std::string& id);
  /// Goes on behind the first `bytes` of a file.
  EventFile(const std::string& path, std::uint64_t bytes);

  /// In the file when it returns.
  void add_scalar(std::string_view tag, std::int64_t step, double value);

  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes() const { return file_.bytes(); }

 private:
  void begin();
  void add_record(const std::string& data);

  GrowingFile file_;
};

/// The checksum CRC-32C (RFC 3720).
std::uint32_t crc32c(std::string_view data);

}  // namespace meshwork
