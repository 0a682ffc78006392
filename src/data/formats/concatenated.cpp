#include "data/formats/concatenated.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/conversion.h"
#include "base/error.h"
#include "data/find_file.h"

namespace meshwork::data {
namespace {

using Parts = std::vector<std::unique_ptr<Source>>;

/// A type that holds the numbers of both.
DType common(DType a, DType b) {
  return is_floating(a) || is_floating(b) ? DType::kFloat64 : DType::kInt64;
}

SourceInfo info_of(const Parts& parts) {
  const SourceInfo& first = parts.front()->info();
  SourceInfo info = first;
  info.name = name_of_all(first.name, parts.size());
  info.shape[0] = 0;
  for (const auto& part : parts) {
    const Shape& shape = part->info().shape;
    if (!std::equal(shape.begin() + 1, shape.end(), first.shape.begin() + 1, first.shape.end())) {
      fail(ExitCode::kFile,
           "{}: shape {}, but {} has shape {}; files of one array must agree in all dimensions but "
           "the first",
           part->info().name, to_string(shape), first.name, to_string(first.shape));
    }
    if (part->info().dtype != info.dtype) info.dtype = common(info.dtype, part->info().dtype);
    if (__builtin_add_overflow(info.shape[0], shape[0], &info.shape[0])) {
      fail(ExitCode::kFile, "{}: more samples than can be counted", info.name);
    }
  }
  checked_elements(info.name, info.shape, sizeof(double));
  return info;
}

class ConcatenatedSource : public Source {
 public:
  explicit ConcatenatedSource(Parts parts) : Source(info_of(parts)), parts_(std::move(parts)) {
    std::int64_t samples = 0;
    for (const auto& part : parts_) {
      places_.push_back({part->info().name, samples});
      samples += part->info().shape[0];
      kept_bytes_ += part->kept_bytes();
      is_resident_ = is_resident_ && part->is_resident();
      decodes_samples_ = decodes_samples_ || part->decodes_samples();
      if (unpacks_files_ || !part->unpacks_files()) continue;
      unpacks_files_ = true;
      unpacking_advice_ = part->unpacking_advice();
    }
  }

  bool is_resident() const override { return is_resident_; }
  const std::byte* samples() const override {
    const std::byte* joined = Source::samples();
    const std::lock_guard lock(mutex_);
    parts_.clear();  // with what they keep: nothing is read of them any more
    return joined;
  }
  std::int64_t kept_bytes() const override { return kept_bytes_; }
  bool decodes_samples() const override { return decodes_samples_; }
  bool unpacks_files() const override { return unpacks_files_; }
  std::string_view unpacking_advice() const override { return unpacking_advice_; }

  std::span<const SamplePlace> files() const override { return places_; }

  SamplePlace place_of(std::int64_t sample) const override {
    const std::size_t part = part_of(sample);
    return {places_[part].name, sample - places_[part].sample};
  }

 private:
  /// The part that holds a sample.
  std::size_t part_of(std::int64_t sample) const {
    const auto after =
        std::upper_bound(places_.begin(), places_.end(), sample,
                         [](std::int64_t s, const SamplePlace& place) { return s < place.sample; });
    return static_cast<std::size_t>(after - places_.begin()) - 1;
  }

  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    if (count == 0) return;
    const std::int64_t elements = num_elements(info().shape) / info().shape[0];
    for (std::size_t i = part_of(begin / elements); count > 0; ++i) {
      const std::int64_t start = places_[i].sample * elements;
      const std::int64_t end = start + num_elements(parts_[i]->info().shape);
      const std::int64_t some = std::min(count, end - begin);
      if (some > 0) fetch_of(*parts_[i], begin - start, some, out);
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  void fetch_of(const Source& part, std::int64_t begin, std::int64_t count, std::byte* out) const {
    const DType from = part.info().dtype;
    if (from == info().dtype) return part.read(begin, count, out);
    const auto size = static_cast<std::int64_t>(size_of(from));
    std::vector<std::byte> raw(static_cast<std::size_t>(count * size));
    part.read(begin, count, raw.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = value_at(raw.data() + i * size, from);
      const auto whole = static_cast<std::int64_t>(info().dtype == DType::kInt64 ? value : 0);
      std::memcpy(out + i * item(),
                  info().dtype == DType::kInt64 ? static_cast<const void*>(&whole) : &value,
                  sizeof value);
    }
  }

  mutable std::mutex mutex_;
  mutable Parts parts_;
  std::vector<SamplePlace> places_;  ///< of the first sample of each part
  std::int64_t kept_bytes_ = 0;
  bool is_resident_ = true;
  bool decodes_samples_ = false;
  bool unpacks_files_ = false;
  std::string_view unpacking_advice_;
};

}  // namespace

std::unique_ptr<Source> concatenated(std::vector<std::unique_ptr<Source>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<ConcatenatedSource>(std::move(parts));
}

std::string name_of_all(const std::string& first, std::size_t count) {
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

std::vector<std::string> paths_of(const FileNames& files, const OpenContext& context) {
  std::vector<std::string> paths;
  for (const std::string& name : files.names) {
    const auto found = find_files(name, context.directories, files.at, context.hint);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

std::unique_ptr<Source> open_all(const FileNames& files, const FileOpener& open_file,
                                 const OpenContext& context) {
  const std::vector<std::string> paths = paths_of(files, context);
  OpenContext each = context;
  each.files = static_cast<std::int64_t>(paths.size());
  Parts parts;
  for (const std::string& path : paths) parts.push_back(open_file(path, each));
  return concatenated(std::move(parts));
}

Opener open_files(FileNames files, FileOpener open_file) {
  return [files = std::move(files), open_file = std::move(open_file)](const OpenContext& context) {
    return open_all(files, open_file, context);
  };
}

}  // namespace meshwork::data
