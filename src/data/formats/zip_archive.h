#pragma once

#include <zip.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/mapped_file.h"

namespace meshwork::data {

constexpr std::string_view kZipMagic("PK\x03\x04", 4);

/// What errors say; readers of datasets and of weights word them differently.
struct ZipWords {
  std::string_view cannot_open;  ///< "not a good zip archive: {}"; libzip's reason is put in
  std::string_view entry;        ///< "array '{}'"; the name of an entry is put in
  std::string_view advice;       ///< "write the file again"
  std::string_view suffix = {};  ///< left out of the names of entries
};

/// An entry that is being read. Reading from its beginning to its end checks its checksum.
class ZipEntry {
 public:
  ZipEntry(zip_file_t* entry, std::string name, std::string_view advice)
      : entry_(entry), name_(std::move(name)), advice_(advice) {}

  /// The next bytes; fewer, in the end none, where the entry is over. Throws Error if it is
  /// damaged.
  std::size_t read(void* to, std::size_t bytes);
  /// Throws Error where the entry is over before.
  void read_all(void* to, std::size_t bytes);
  /// Goes on reading at `offset`. The entry must be stored as it is.
  void seek(std::uint64_t offset);

 private:
  struct Close {
    void operator()(zip_file_t* entry) const { zip_fclose(entry); }
  };
  [[noreturn]] void fail_damaged() const;

  std::unique_ptr<zip_file_t, Close> entry_;
  std::string name_;
  std::string_view advice_;
};

/// A zip archive open for reading.
class ZipArchive {
 public:
  /// Throws an Error of ExitCode::kFile. A named pipe would make it wait.
  ZipArchive(const std::string& file, const ZipWords& words);
  /// Keeps no descriptor open. `file` must outlive the archive.
  ZipArchive(const MappedFile& file, const ZipWords& words);

  /// Names of all entries, in the order of the archive.
  const std::vector<std::string>& entries() const { return entries_; }
  std::optional<std::size_t> find(const std::string& name) const;
  /// Bytes, unpacked; an Error where these cannot come from what is packed.
  std::uint64_t size(std::size_t entry) const;
  /// Whether it is stored as it is, not packed.
  bool is_stored(std::size_t entry) const;
  ZipEntry open(std::size_t entry) const;

 private:
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  void list_entries();
  std::string entry_name(std::size_t entry) const;
  zip_stat_t status(std::size_t entry) const;
  [[noreturn]] void fail_to_open(zip_error_t& error) const;
  [[noreturn]] void fail_entry(std::size_t entry) const;

  std::string file_;
  ZipWords words_;
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

}  // namespace meshwork::data
