// numpy.savez's .npz: a zip archive of .npy files, stored or deflated. An entry is
// {file: mnist.npz, array: x_train}; `array` is the field's name unless given. Arrays are unpacked
// when first needed and kept, beyond what is kept by default (or with `cache: false`) only those
// used last; of arrays that are stored just the wanted rows are read then.
#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/gunzip.h"
#include "data/formats/npy_header.h"
#include "data/formats/recent_arrays.h"
#include "data/formats/zip_archive.h"

namespace meshwork::data {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr ZipWords kWords{
    .cannot_open = "cannot open the .npz archive: {}",
    .entry = "array '{}'",
    .advice = "fetch the file again",
    .suffix = kSuffix,
};

ZipArchive open_archive(const std::string& path) {
  if (!is_regular_file(path)) {  // a named pipe would make libzip wait
    fail(ExitCode::kFile, "{}: not a regular file", path);
  }
  refuse_gzip(path);
  return {path, kWords};
}

struct ArrayInArchive {
  std::string path;
  std::string array;
  std::string name() const { return fmt::format("{}: array '{}'", path, array); }
};

std::size_t locate(const ZipArchive& archive, const ArrayInArchive& where) {
  if (const auto entry = archive.find(where.array + std::string(kSuffix))) return *entry;
  std::vector<std::string> known = archive.entries();
  for (std::string& name : known) {
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  }
  fail(ExitCode::kFile, "{}: has no array '{}'{}", where.path, where.array,
       suggestion(where.array, known));
}

/// The first `count` bytes of an entry, fewer if it ends. Reading to the end checks the checksum.
HeapBytes read_entry(const ZipArchive& archive, std::size_t entry, std::size_t count) {
  ZipEntry opened = archive.open(entry);
  HeapBytes bytes = HeapBytes::of_size(count);
  bytes.size = opened.read(bytes.data.get(), count);
  return bytes;
}

/// Reads a whole array, and with it checks its checksum.
HeapBytes unpack(const ArrayInArchive& where, const ArrayHeader& header) {
  const ZipArchive archive = open_archive(where.path);
  const auto elements = static_cast<std::size_t>(num_elements(header.shape));
  const std::size_t size = header.offset + elements * size_of(header.element.type);
  // One byte more than needed, to meet the end and with it the checksum.
  HeapBytes bytes = read_entry(archive, locate(archive, where), size + 1);
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

/// Unpacked when needed, and not kept.
class PassingSource : public Source {
 public:
  PassingSource(ArrayInArchive where, const ArrayHeader& header,
                std::shared_ptr<RecentArrays> recent)
      : Source({where.name(), header.shape, header.element.type}),
        where_(std::move(where)),
        header_(header),
        recent_(std::move(recent)),
        kept_bytes_(recent_->claim(bytes())) {}

  bool decodes_samples() const override { return true; }
  bool unpacks_files() const override { return kept_bytes_ < bytes(); }
  std::string_view unpacking_advice() const override {
    return "its files again; keep all with dataset.cache=true, or store them unpacked: python3 -c "
           "'import sys, numpy; [numpy.savez(f, **numpy.load(f)) for f in sys.argv[1:]]' FILES";
  }
  std::int64_t kept_bytes() const override { return kept_bytes_; }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const auto all = recent_->get(where_.path, bytes(), [&] { return unpack(where_, header_); });
    std::copy_n(all->data.get() + header_.offset + begin * item(), count * item(), out);
    to_native(header_.element, count, out);
  }

  ArrayInArchive where_;
  ArrayHeader header_;
  std::shared_ptr<RecentArrays> recent_;
  std::int64_t kept_bytes_;
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
        archive_(file_, kWords),
        entry_(archive_.open(locate(archive_, where_))) {}

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const std::lock_guard lock(mutex_);
    entry_.seek(header_.offset + static_cast<std::uint64_t>(begin * item()));
    entry_.read_all(out, static_cast<std::size_t>(count * item()));
    to_native(header_.element, count, out);
  }

  ArrayInArchive where_;
  ArrayHeader header_;
  MappedFile file_;  // keeps no descriptor open, of which there may be too few for all files
  ZipArchive archive_;
  mutable std::mutex mutex_;  ///< entry_ has one position
  mutable ZipEntry entry_;
};

std::unique_ptr<Source> open_npz(const ArrayInArchive& where, const OpenContext& context,
                                 const std::shared_ptr<RecentArrays>& recent) {
  const ZipArchive archive = open_archive(where.path);
  const std::size_t entry = locate(archive, where);
  const std::uint64_t size = archive.size(entry);
  const HeapBytes head = read_entry(archive, entry, std::min<std::uint64_t>(size, kNpyHeaderLimit));
  const ArrayHeader header = parse_npy_header(where.name(), head.span());
  if (header.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", where.name());
  }
  const std::size_t element = size_of(header.element.type);
  const auto elements =
      static_cast<std::uint64_t>(checked_elements(where.name(), header.shape, element));
  if (size != header.offset + elements * element) {
    fail(ExitCode::kFile, "{}: {} bytes, but shape {} of {} needs {}; fetch the file again",
         where.name(), size, to_string(header.shape), to_string(header.element.type),
         header.offset + elements * element);
  }
  if (context.keeps(static_cast<std::int64_t>(size))) {
    return std::make_unique<KeptSource>(where, header);
  }
  if (archive.is_stored(entry)) return std::make_unique<StoredSource>(where, header);
  return std::make_unique<PassingSource>(where, header, recent);
}

Opener parse(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  const std::string array = keys.get("array", entry.field);
  FileNames files = files_of(entry, keys);
  keys.finish();
  return [files = std::move(files), array,
          overlooks = overlooks_weights(entry)](const OpenContext& context) {
    // Those that are not to be kept take no more memory than it takes to read them.
    const std::int64_t kept = context.cache.has_value() ? 0 : kCachedByDefault;
    const auto open = [&, recent = std::make_shared<RecentArrays>(kept)](const std::string& path,
                                                                         const OpenContext& each) {
      const std::string weights = names::kSampleWeight + std::string(kSuffix);
      if (overlooks && open_archive(path).find(weights)) fail_for_weights(path, files.at);
      return open_npz({path, array}, each, recent);
    };
    return open_files(files, open)(context);
  };
}

}  // namespace

const Format kNpz{.name = "npz", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
