// numpy.savez's .npz: a zip archive of .npy files, stored or deflated. An entry is
// {file: mnist.npz, array: x_train}; `array` is the field's name unless given.
#include <zip.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
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

Archive open_archive(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {  // a named pipe would make libzip wait
    fail(ExitCode::kFile, "{}: not a regular file", path);
  }
  int code = 0;
  if (zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code)) return Archive(archive);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  fail(ExitCode::kFile, "{}: cannot open the .npz archive: {}", path, reason);
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

std::uint64_t entry_size(zip_t* archive, std::uint64_t index, const ArrayInArchive& where) {
  zip_stat_t status;
  if (zip_stat_index(archive, index, 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0 ||
      (status.valid & ZIP_STAT_COMP_SIZE) == 0) {
    fail(ExitCode::kFile, "{}: {}", where.name(), zip_strerror(archive));
  }
  if (status.size / kBestRatio > status.comp_size) {
    fail(ExitCode::kFile, "{}: {} bytes cannot come from {} packed ones; is the file damaged?",
         where.name(), status.size, status.comp_size);
  }
  return status.size;
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

class NpzSource : public Source {
 public:
  NpzSource(ArrayInArchive where, const ArrayHeader& header)
      : Source({where.name(), header.shape, is_integer(header.element.type)}),
        where_(std::move(where)),
        header_(header) {}

  void read(std::int64_t begin, std::int64_t count, const Conversion& conversion,
            void* out) const override {
    read_array(info(), payload(), header_.element, begin, count, conversion, out);
  }

 private:
  std::span<const std::byte> payload() const {
    if (!is_read_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      if (!is_read_.load(std::memory_order_relaxed)) {
        load();
        is_read_.store(true, std::memory_order_release);
      }
    }
    return bytes_.span().subspan(header_.offset);
  }

  void load() const {
    const Archive archive = open_archive(where_.path);
    const auto elements = static_cast<std::size_t>(num_elements(header_.shape));
    const std::size_t size = header_.offset + elements * size_of(header_.element.type);
    // One byte more than needed, to meet the end and with it the checksum.
    HeapBytes bytes = read_entry(archive.get(), locate(archive.get(), where_), size + 1, where_);
    if (bytes.size != size) {
      fail(ExitCode::kFile, "{}: {} bytes, but shape {} needs {}; fetch the file again",
           where_.name(), bytes.size, to_string(header_.shape), size);
    }
    bytes_ = std::move(bytes);
  }

  ArrayInArchive where_;
  ArrayHeader header_;
  mutable std::mutex mutex_;
  mutable HeapBytes bytes_;
  mutable std::atomic<bool> is_read_ = false;
};

std::unique_ptr<Source> open_npz(const ArrayInArchive& where) {
  const Archive archive = open_archive(where.path);
  const std::uint64_t index = locate(archive.get(), where);
  const std::uint64_t size = entry_size(archive.get(), index, where);
  const HeapBytes head =
      read_entry(archive.get(), index, std::min<std::uint64_t>(size, kNpyHeaderLimit), where);
  const ArrayHeader header = parse_npy_header(where.name(), head.span());
  if (header.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", where.name());
  }
  const std::size_t element = size_of(header.element.type);
  const auto elements =
      static_cast<std::uint64_t>(checked_elements(where.name(), header.shape, element));
  if (size != header.offset + elements * element) {
    fail(ExitCode::kFile, "{}: {} bytes, but shape {} of {} needs {}; fetch the file again",
         where.name(), size, to_string(header.shape), name_of(header.element.type),
         header.offset + elements * element);
  }
  return std::make_unique<NpzSource>(where, header);
}

Opener parse(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  const std::string array = keys.get("array", entry.field);
  const std::string file = file_of(entry, keys);
  keys.finish();
  return [file, array, at = entry.value.at](const OpenContext& context) {
    return open_npz({context.find_file(file, at), array});
  };
}

}  // namespace

const Format kNpz{.name = "npz", .parse = parse};

}  // namespace meshwork::data
