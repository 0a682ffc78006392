#include "data/formats/array_source.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace meshwork::data {
namespace {

class ArraySource : public Source {
 public:
  ArraySource(std::unique_ptr<FileBytes> file, const ArrayHeader& header, bool keeps,
              std::shared_ptr<const Vocabulary> vocabulary)
      : Source({file->path(), header.shape, header.element.type, std::move(vocabulary)}),
        file_(std::move(file)),
        element_(header.element),
        offset_(header.offset),
        keeps_(keeps) {}

  bool is_resident() const override { return keeps_; }
  const std::byte* samples() const override {
    prepare_file();
    return element_.swapped ? Source::samples() : stored();
  }
  const std::byte* place() const override {
    return element_.swapped ? samples() : file_->place() + offset_;
  }
  std::int64_t kept_bytes() const override { return bytes(); }

 private:
  /// Not std::call_once: its second call may wait for ever where the first ends in an Error.
  void prepare_file() const {
    const std::lock_guard lock(mutex_);
    if (is_file_prepared_) return;
    file_->prepare();
    is_file_prepared_ = true;
  }

  const std::byte* stored() const { return file_->all().data() + offset_; }

  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    std::copy_n(stored() + begin * item(), count * item(), out);
    to_native(element_, count, out);
  }

  std::unique_ptr<FileBytes> file_;
  Element element_;
  std::size_t offset_;
  bool keeps_;  ///< all of it in memory
  mutable std::mutex mutex_;
  mutable bool is_file_prepared_ = false;
};

}  // namespace

std::unique_ptr<Source> open_array(std::unique_ptr<FileBytes> file, const ArrayHeader& header,
                                   const OpenContext& context,
                                   std::shared_ptr<const Vocabulary> vocabulary) {
  const std::size_t size = size_of(header.element.type);
  if (header.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", file->path());
  }
  const std::int64_t elements = checked_elements(file->path(), header.shape, size);
  const std::size_t bytes = header.offset + static_cast<std::size_t>(elements) * size;
  file->expect_size(bytes, fmt::format("shape {} of {}", to_string(header.shape),
                                       to_string(header.element.type)));
  const bool keeps = file->is_packed() || context.keeps(static_cast<std::int64_t>(bytes));
  return std::make_unique<ArraySource>(std::move(file), header, keeps, std::move(vocabulary));
}

}  // namespace meshwork::data
