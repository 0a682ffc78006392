#include "data/formats/array_source.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace meshwork::data {
namespace {

class ArraySource : public Source {
 public:
  ArraySource(std::unique_ptr<FileBytes> file, const ArrayHeader& header, bool keeps)
      : Source({file->path(), header.shape, is_integer(header.element.type)}),
        file_(std::move(file)),
        element_(header.element),
        offset_(header.offset),
        keeps_(keeps) {}

  void read(std::int64_t begin, std::int64_t count, const Conversion& conversion,
            void* out) const override {
    read_array(info(), file_->all().subspan(offset_), element_, begin, count, conversion, out);
  }

  void prepare() const override {
    if (keeps_) file_->prepare();
  }
  void prefetch(std::int64_t begin, std::int64_t count) const override {
    prefetch_array(file_->all().subspan(offset_), element_, begin, count);
  }
  bool reads_memory() const override { return keeps_; }
  std::int64_t kept_bytes() const override {
    return num_elements(info().shape) * static_cast<std::int64_t>(size_of(element_.type));
  }

 private:
  std::unique_ptr<FileBytes> file_;
  Element element_;
  std::size_t offset_;
  bool keeps_;  ///< all of it in memory
};

}  // namespace

std::unique_ptr<Source> open_array(std::unique_ptr<FileBytes> file, const ArrayHeader& header,
                                   const OpenContext& context) {
  const std::size_t size = size_of(header.element.type);
  if (header.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", file->path());
  }
  const std::int64_t elements = checked_elements(file->path(), header.shape, size);
  const std::size_t bytes = header.offset + static_cast<std::size_t>(elements) * size;
  file->expect_size(
      bytes, fmt::format("shape {} of {}", to_string(header.shape), name_of(header.element.type)));
  const bool keeps = file->is_packed() || context.keeps(static_cast<std::int64_t>(bytes));
  return std::make_unique<ArraySource>(std::move(file), header, keeps);
}

void read_array(const SourceInfo& info, std::span<const std::byte> array, Element element,
                std::int64_t begin, std::int64_t count, const Conversion& conversion, void* out) {
  const std::size_t size = size_of(element.type);
  MW_CHECK(begin >= 0 && count >= 0 &&
           static_cast<std::size_t>(begin + count) * size <= array.size());
  const std::byte* first = array.data() + static_cast<std::size_t>(begin) * size;
  const std::int64_t done = convert(first, element, count, conversion, out);
  if (done == count) return;
  const double raw = value_at(first + static_cast<std::size_t>(done) * size, element);
  fail_not_int32(info, begin + done, raw, conversion);
}

void prefetch_array(std::span<const std::byte> array, Element element, std::int64_t begin,
                    std::int64_t count) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kMost = 4096;  // what follows the processor fetches ahead by itself
  const std::size_t size = size_of(element.type);
  const std::byte* first = array.data() + static_cast<std::size_t>(begin) * size;
  const std::size_t bytes = std::min(static_cast<std::size_t>(count) * size, kMost);
  for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(first + i);
  if (bytes > 0) __builtin_prefetch(first + bytes - 1);
}

}  // namespace meshwork::data
