// numpy.savez's .npz: a zip archive of .npy files, stored or deflated. An entry is
// {file: mnist.npz, array: x_train}; `array` is the field's name unless given. Arrays are unpacked
// when first needed and kept, with `cache: false` (or beyond what is kept by default) only those
// used last; of arrays that are stored just the wanted rows are read then.
#include <zip.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/npy_header.h"

namespace meshwork::data {
namespace {

// Deflate cannot shrink more than this.
constexpr std::uint64_t kBestRatio = 1040;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

[[noreturn]] void fail_archive(const std::string& path, zip_error_t* error) {
  const std::string reason = zip_error_strerror(error);
  zip_error_fini(error);
  fail(ExitCode::kFile, "{}: cannot open the .npz archive: {}", path, reason);
}

Archive open_archive(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {  // a named pipe would make libzip wait
    fail(ExitCode::kFile, "{}: not a regular file", path);
  }
  int code = 0;
  if (zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code)) return Archive(archive);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  fail_archive(path, &error);
}

/// `file` must outlive the archive.
Archive open_mapped(const MappedFile& file, const std::string& path) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source =
      zip_source_buffer_create(file.bytes().data(), file.bytes().size(), 0, &error);
  if (source == nullptr) fail_archive(path, &error);
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    fail_archive(path, &error);
  }
  zip_error_fini(&error);
  return Archive(archive);
}

struct ArrayInArchive {
  std::string path;
  std::string array;
  std::string name() const { return fmt::format("{}: array '{}'", path, array); }
};

std::uint64_t locate(zip_t* archive, const ArrayInArchive& where) {
  const std::string file = where.array + ".npy";
  const zip_int64_t index = zip_name_locate(archive, file.c_str(), 0);
  if (index >= 0) return static_cast<std::uint64_t>(index);
  std::vector<std::string> known;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    std::string entry = name == nullptr ? "" : name;
    if (entry.ends_with(".npy")) entry.resize(entry.size() - 4);
    known.push_back(entry);
  }
  fail(ExitCode::kFile, "{}: has no array '{}'{}", where.path, where.array,
       suggestion(where.array, known));
}

struct EntryInfo {
  std::uint64_t index = 0;
  std::uint64_t size = 0;
  bool is_stored = false;  ///< not packed
};

EntryInfo look_at(zip_t* archive, std::uint64_t index, const ArrayInArchive& where) {
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_t status;
  if (zip_stat_index(archive, index, 0, &status) != 0 || (status.valid & kNeeded) != kNeeded) {
    fail(ExitCode::kFile, "{}: {}", where.name(), zip_strerror(archive));
  }
  if (status.size / kBestRatio > status.comp_size) {
    fail(ExitCode::kFile, "{}: {} bytes cannot come from {} packed ones; is the file damaged?",
         where.name(), status.size, status.comp_size);
  }
  return {index, status.size, status.comp_method == ZIP_CM_STORE};
}

/// The first `count` bytes of an entry, fewer if it ends. Reading to the end checks the checksum.
HeapBytes read_entry(zip_t* archive, std::uint64_t index, std::size_t count,
                     const ArrayInArchive& where) {
  const Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry) fail(ExitCode::kFile, "{}: {}", where.name(), zip_strerror(archive));
  HeapBytes bytes = HeapBytes::of_size(count);
  std::size_t have = 0;
  while (have < count) {
    const zip_int64_t got = zip_fread(entry.get(), bytes.data.get() + have, count - have);
    if (got < 0) {
      fail(ExitCode::kFile, "{}: {}; fetch the file again", where.name(),
           zip_file_strerror(entry.get()));
    }
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.size = have;
  return bytes;
}

/// Reads a whole array, and with it checks its checksum.
HeapBytes unpack(const ArrayInArchive& where, const ArrayHeader& header) {
  const Archive archive = open_archive(where.path);
  const auto elements = static_cast<std::size_t>(num_elements(header.shape));
  const std::size_t size = header.offset + elements * size_of(header.element.type);
  // One byte more than needed, to meet the end and with it the checksum.
  HeapBytes bytes = read_entry(archive.get(), locate(archive.get(), where), size + 1, where);
  if (bytes.size != size) {
    fail(ExitCode::kFile, "{}: {} bytes, but shape {} needs {}; fetch the file again", where.name(),
         bytes.size, to_string(header.shape), size);
  }
  return bytes;
}

/// Unpacked once, then kept.
class KeptSource : public Source {
 public:
  KeptSource(ArrayInArchive where, const ArrayHeader& header)
      : Source({where.name(), header.shape, header.element.type}),
        where_(std::move(where)),
        header_(header) {}

  bool is_resident() const override { return true; }
  const std::byte* samples() const override {
    const std::lock_guard lock(mutex_);
    if (unpacked_.data == nullptr) {
      HeapBytes all = unpack(where_, header_);
      to_native(header_.element, num_elements(info().shape), all.data.get() + header_.offset);
      unpacked_ = std::move(all);
    }
    return unpacked_.data.get() + header_.offset;
  }

 private:
  void fetch(std::int64_t, std::int64_t, std::byte*) const override {}

  ArrayInArchive where_;
  ArrayHeader header_;
  mutable std::mutex mutex_;
  mutable HeapBytes unpacked_;
};

/// The arrays unpacked last, of all files of a field. Readers of neighbouring rows meet two files
/// at most.
class RecentArrays {
 public:
  std::shared_ptr<const HeapBytes> get(const ArrayInArchive& where, const ArrayHeader& header) {
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_) {
      if (known.bytes && known.path == where.path) return known.bytes;
    }
    known_[0] = std::move(known_[1]);
    known_[1] = {};  // gone before the next one comes
    known_[1] = {where.path, std::make_shared<const HeapBytes>(unpack(where, header))};
    return known_[1].bytes;
  }

 private:
  struct Known {
    std::string path;
    std::shared_ptr<const HeapBytes> bytes;
  };
  std::mutex mutex_;
  std::array<Known, 2> known_;
};

/// Unpacked when needed, and not kept.
class PassingSource : public Source {
 public:
  PassingSource(ArrayInArchive where, const ArrayHeader& header,
                std::shared_ptr<RecentArrays> recent)
      : Source({where.name(), header.shape, header.element.type}),
        where_(std::move(where)),
        header_(header),
        recent_(std::move(recent)) {}

  bool decodes_samples() const override { return true; }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const std::shared_ptr<const HeapBytes> all = recent_->get(where_, header_);
    std::copy_n(all->data.get() + header_.offset + begin * item(), count * item(), out);
    to_native(header_.element, count, out);
  }

  ArrayInArchive where_;
  ArrayHeader header_;
  std::shared_ptr<RecentArrays> recent_;
};

/// Stored in the archive as it is: just what is asked for is read. The checksum, which is over all
/// of the array, is not looked at.
class StoredSource : public Source {
 public:
  StoredSource(ArrayInArchive where, const ArrayHeader& header)
      : Source({where.name(), header.shape, header.element.type}),
        where_(std::move(where)),
        header_(header),
        file_(where_.path),
        archive_(open_mapped(file_, where_.path)),
        entry_(zip_fopen_index(archive_.get(), locate(archive_.get(), where_), 0)) {
    if (!entry_) fail(ExitCode::kFile, "{}: {}", where_.name(), zip_strerror(archive_.get()));
  }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const std::lock_guard lock(mutex_);
    if (zip_fseek(
            entry_.get(),
            static_cast<zip_int64_t>(header_.offset) + static_cast<zip_int64_t>(begin * item()),
            SEEK_SET) != 0) {
      fail_entry();
    }
    for (std::int64_t have = 0; have < count * item();) {
      const auto wanted = static_cast<zip_uint64_t>(count * item() - have);
      const zip_int64_t got = zip_fread(entry_.get(), out + have, wanted);
      if (got < 0) fail_entry();
      if (got == 0) fail(ExitCode::kFile, "{}: cut off; fetch the file again", where_.name());
      have += got;
    }
    to_native(header_.element, count, out);
  }

  [[noreturn]] void fail_entry() const {
    fail(ExitCode::kFile, "{}: {}; fetch the file again", where_.name(),
         zip_file_strerror(entry_.get()));
  }

  ArrayInArchive where_;
  ArrayHeader header_;
  MappedFile file_;  // keeps no descriptor open, of which there may be too few for all files
  Archive archive_;
  Entry entry_;
  mutable std::mutex mutex_;  ///< entry_ has one position
};

std::unique_ptr<Source> open_npz(const ArrayInArchive& where, const OpenContext& context,
                                 const std::shared_ptr<RecentArrays>& recent) {
  const Archive archive = open_archive(where.path);
  const EntryInfo entry = look_at(archive.get(), locate(archive.get(), where), where);
  const HeapBytes head = read_entry(archive.get(), entry.index,
                                    std::min<std::uint64_t>(entry.size, kNpyHeaderLimit), where);
  const ArrayHeader header = parse_npy_header(where.name(), head.span());
  if (header.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", where.name());
  }
  const std::size_t element = size_of(header.element.type);
  const auto elements =
      static_cast<std::uint64_t>(checked_elements(where.name(), header.shape, element));
  if (entry.size != header.offset + elements * element) {
    fail(ExitCode::kFile, "{}: {} bytes, but shape {} of {} needs {}; fetch the file again",
         where.name(), entry.size, to_string(header.shape), to_string(header.element.type),
         header.offset + elements * element);
  }
  if (context.keeps(static_cast<std::int64_t>(entry.size))) {
    return std::make_unique<KeptSource>(where, header);
  }
  if (entry.is_stored) return std::make_unique<StoredSource>(where, header);
  return std::make_unique<PassingSource>(where, header, recent);
}

Opener parse(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  const std::string array = keys.get("array", entry.field);
  FileNames files = files_of(entry, keys);
  keys.finish();
  return [files = std::move(files), array](const OpenContext& context) {
    const auto open = [&, recent = std::make_shared<RecentArrays>()](const std::string& path,
                                                                     const OpenContext& each) {
      return open_npz({path, array}, each, recent);
    };
    return open_files(files, open)(context);
  };
}

}  // namespace

const Format kNpz{.name = "npz", .parse = parse};

}  // namespace meshwork::data
