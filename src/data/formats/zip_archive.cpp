#include "data/formats/zip_archive.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "data/formats/deflate.h"

namespace meshwork::data {
namespace {

/// What libzip asks for an entry.
struct Writer {
  const ZipContent* content = nullptr;
  std::string bytes;
  std::size_t given = 0;
  std::uint64_t size = 0;
  std::exception_ptr* failure = nullptr;
};

bool load(Writer& writer) noexcept {
  try {
    writer.bytes = writer.content->bytes();
    writer.given = 0;
    return true;
  } catch (...) {
    *writer.failure = std::current_exception();
    return false;
  }
}

zip_int64_t give(void* of, void* data, zip_uint64_t bytes, zip_source_cmd_t command) noexcept {
  auto& writer = *static_cast<Writer*>(of);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      return load(writer) ? 0 : -1;
    case ZIP_SOURCE_READ: {
      const std::size_t count = std::min<std::size_t>(bytes, writer.bytes.size() - writer.given);
      std::memcpy(data, writer.bytes.data() + writer.given, count);
      writer.given += count;
      return static_cast<zip_int64_t>(count);
    }
    case ZIP_SOURCE_CLOSE:
      writer.bytes = {};
      return 0;
    case ZIP_SOURCE_STAT:
      zip_stat_init(static_cast<zip_stat_t*>(data));
      return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: {
      const int codes[] = {ZIP_ER_READ, 0};
      std::memcpy(data, codes, sizeof codes);
      return sizeof codes;
    }
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      return command == ZIP_SOURCE_FREE ? 0 : -1;
  }
}

}  // namespace

std::size_t ZipEntry::read(void* to, std::size_t bytes) {
  std::size_t have = 0;
  while (have < bytes) {
    const zip_int64_t got =
        zip_fread(entry_.get(), static_cast<std::byte*>(to) + have, bytes - have);
    if (got < 0) fail_damaged();
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

void ZipEntry::read_all(void* to, std::size_t bytes) {
  if (read(to, bytes) < bytes) fail(ExitCode::kFile, "{}: cut off; {}", name_, advice_);
}

void ZipEntry::seek(std::uint64_t offset) {
  if (zip_fseek(entry_.get(), static_cast<zip_int64_t>(offset), SEEK_SET) != 0) fail_damaged();
}

void ZipEntry::fail_damaged() const {
  fail(ExitCode::kFile, "{}: {}; {}", name_, zip_file_strerror(entry_.get()), advice_);
}

ZipArchive::ZipArchive(const std::string& file, const ZipWords& words)
    : file_(file), words_(words) {
  int code = 0;
  archive_.reset(zip_open(file.c_str(), ZIP_RDONLY, &code));
  if (!archive_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_to_open(error);
  }
  list_entries();
}

ZipArchive::ZipArchive(const MappedFile& file, const ZipWords& words)
    : file_(file.path()), words_(words) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source =
      zip_source_buffer_create(file.bytes().data(), file.bytes().size(), 0, &error);
  if (source == nullptr) fail_to_open(error);
  archive_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (!archive_) {
    zip_source_free(source);
    fail_to_open(error);
  }
  zip_error_fini(&error);
  list_entries();
}

void ZipArchive::fail_to_open(zip_error_t& error) const {
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  fail(ExitCode::kFile, "{}: {}", file_, fmt::format(fmt::runtime(words_.cannot_open), reason));
}

void ZipArchive::list_entries() {
  const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    entries_.emplace_back(name == nullptr ? "" : name);
  }
}

std::optional<std::size_t> ZipArchive::find(const std::string& name) const {
  const auto entry = std::find(entries_.begin(), entries_.end(), name);
  if (entry == entries_.end()) return std::nullopt;
  return static_cast<std::size_t>(entry - entries_.begin());
}

std::string ZipArchive::entry_name(std::size_t entry) const {
  std::string_view name = entries_.at(entry);
  if (name.ends_with(words_.suffix)) name.remove_suffix(words_.suffix.size());
  return fmt::format("{}: {}", file_, fmt::format(fmt::runtime(words_.entry), name));
}

void ZipArchive::fail_entry(std::size_t entry) const {
  fail(ExitCode::kFile, "{}: {}", entry_name(entry), zip_strerror(archive_.get()));
}

zip_stat_t ZipArchive::status(std::size_t entry) const {
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_t found;
  const bool is_known = zip_stat_index(archive_.get(), entry, 0, &found) == 0;
  if (!is_known || (found.valid & kNeeded) != kNeeded) fail_entry(entry);
  return found;
}

std::uint64_t ZipArchive::size(std::size_t entry) const {
  const zip_stat_t found = status(entry);
  if (found.size / kBestDeflateRatio > found.comp_size) {
    fail(ExitCode::kFile, "{}: {} bytes cannot come from {} packed ones; is the file damaged?",
         entry_name(entry), found.size, found.comp_size);
  }
  return found.size;
}

bool ZipArchive::is_stored(std::size_t entry) const {
  return status(entry).comp_method == ZIP_CM_STORE;
}

ZipEntry ZipArchive::open(std::size_t entry) const {
  zip_file_t* opened = zip_fopen_index(archive_.get(), entry, 0);
  if (opened == nullptr) fail_entry(entry);
  return {opened, entry_name(entry), words_.advice};
}

void write_zip(const std::string& file, const std::vector<ZipContent>& content) {
  std::exception_ptr failure;
  std::vector<Writer> writers(content.size());
  int code = 0;
  zip_t* archive = zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) fail(ExitCode::kFile, "{}: cannot write", file);
  bool is_fine = true;
  for (std::size_t i = 0; is_fine && i < content.size(); ++i) {
    writers[i] = {&content[i], {}, 0, 0, &failure};
    const std::string& from = content[i].file;
    zip_source_t* source = from.empty() ? zip_source_function(archive, give, &writers[i])
                                        : zip_source_file(archive, from.c_str(), 0, -1);
    const zip_int64_t entry =
        zip_file_add(archive, content[i].name.c_str(), source, ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE);
    if (entry < 0) zip_source_free(source);
    const auto index = static_cast<zip_uint64_t>(entry);
    constexpr zip_uint16_t kFirstDay = 33;  // of 1980, where dates of zip archives begin
    is_fine = entry >= 0 && zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
              zip_file_set_dostime(archive, index, 0, kFirstDay, 0) == 0;
  }
  is_fine = is_fine && zip_close(archive) == 0;
  if (is_fine) return;
  const std::string reason = zip_strerror(archive);
  zip_discard(archive);
  if (failure) std::rethrow_exception(failure);
  fail(ExitCode::kFile, "{}: cannot write: {}", file, reason);
}

}  // namespace meshwork::data
