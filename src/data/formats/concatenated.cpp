#include "data/formats/concatenated.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/find_file.h"

namespace meshwork::data {
namespace {

using Parts = std::vector<std::unique_ptr<Source>>;

/// "part-0.npz and 3 more".
SourceInfo info_of(const Parts& parts) {
  const SourceInfo& first = parts.front()->info();
  SourceInfo info = first;
  info.name = fmt::format("{} and {} more", first.name, parts.size() - 1);
  info.shape[0] = 0;
  for (const auto& part : parts) {
    const Shape& shape = part->info().shape;
    if (!std::equal(shape.begin() + 1, shape.end(), first.shape.begin() + 1, first.shape.end())) {
      fail(ExitCode::kFile,
           "{}: shape {}, but {} has shape {}; files of one array must agree in all dimensions but "
           "the first",
           part->info().name, to_string(shape), first.name, to_string(first.shape));
    }
    info.integers = info.integers && part->info().integers;
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
    starts_.push_back(0);
    for (const auto& part : parts_) {
      starts_.push_back(starts_.back() + num_elements(part->info().shape));
    }
  }

  void read(std::int64_t begin, std::int64_t count, const Conversion& conversion,
            void* out) const override {
    constexpr std::int64_t kSize = 4;  // float32 and int32
    auto* to = static_cast<std::byte*>(out);
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
    for (auto part = static_cast<std::size_t>(after - starts_.begin()) - 1; count > 0; ++part) {
      const std::int64_t some = std::min(count, starts_[part + 1] - begin);
      if (some > 0) parts_[part]->read(begin - starts_[part], some, conversion, to);
      begin += some;
      count -= some;
      to += kSize * some;
    }
  }

  void prepare() const override {
    for (const auto& part : parts_) part->prepare();
  }

  void prefetch(std::int64_t begin, std::int64_t count) const override {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
    const auto part = static_cast<std::size_t>(after - starts_.begin()) - 1;
    parts_[part]->prefetch(begin - starts_[part], std::min(count, starts_[part + 1] - begin));
  }

  bool reads_memory() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->reads_memory(); });
  }

  std::int64_t kept_bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part->kept_bytes();
    return bytes;
  }

  bool decodes_samples() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->decodes_samples(); });
  }

 private:
  Parts parts_;
  std::vector<std::int64_t> starts_;  ///< first element of each part, and the end
};

}  // namespace

std::unique_ptr<Source> concatenated(std::vector<std::unique_ptr<Source>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<ConcatenatedSource>(std::move(parts));
}

Opener open_files(FileNames files, FileOpener open_file) {
  return [files = std::move(files), open_file = std::move(open_file)](const OpenContext& context) {
    std::vector<std::string> paths;
    for (const std::string& name : files.names) {
      const auto found = find_files(name, context.directories, files.at, context.hint);
      paths.insert(paths.end(), found.begin(), found.end());
    }
    OpenContext each = context;
    each.files = static_cast<std::int64_t>(paths.size());
    Parts parts;
    for (const std::string& path : paths) parts.push_back(open_file(path, each));
    return concatenated(std::move(parts));
  };
}

}  // namespace meshwork::data
