#pragma once

#include <zip.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshwork::formats {

constexpr std::string_view kZipMagic("PK\x03\x04", 4);

/// An entry that is being read from its beginning to its end, which checks its checksum.
class ZipEntry {
 public:
  ZipEntry(zip_file_t* entry, std::string name) : entry_(entry), name_(std::move(name)) {}

  /// The next bytes; fewer, in the end none, where the entry is over. Throws Error if it is
  /// damaged.
  std::size_t read(void* to, std::size_t bytes);
  /// Throws Error where the entry is over before.
  void read_all(void* to, std::size_t bytes);

 private:
  struct Close {
    void operator()(zip_file_t* entry) const { zip_fclose(entry); }
  };
  std::unique_ptr<zip_file_t, Close> entry_;
  std::string name_;
};

/// A zip archive open for reading.
class ZipArchive {
 public:
  /// Throws an Error of ExitCode::kFile.
  explicit ZipArchive(const std::string& file);

  /// Names of all entries, in the order of the archive.
  const std::vector<std::string>& entries() const { return entries_; }
  std::optional<std::size_t> find(const std::string& name) const;
  /// Bytes, unpacked; an Error where these cannot come from what is packed.
  std::uint64_t size(std::size_t entry) const;
  ZipEntry open(std::size_t entry) const;

 private:
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::string entry_name(std::size_t entry) const;

  std::string file_;
  std::unique_ptr<zip_t, Discard> archive_;
  std::vector<std::string> entries_;
};

/// An entry to be written. Its bytes are asked for when its turn comes, and freed after it; or they
/// are those of a file.
struct ZipContent {
  std::string name;
  std::function<std::string()> bytes;
  std::string file = {};
};

/// Writes an archive in which entries are stored as they are; the same bytes for the same content.
void write_zip(const std::string& file, const std::vector<ZipContent>& content);

}  // namespace meshwork::formats
