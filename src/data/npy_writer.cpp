#include "data/npy_writer.h"

#include <utility>

#include "base/check.h"
#include "base/runs.h"
#include "data/formats/npy_header.h"

namespace meshwork::data {

NpyWriter::NpyWriter(std::string partial, DType dtype, const Shape& shape)
    : partial_(std::move(partial)),
      dtype_(dtype),
      shape_(shape),
      header_(npy_header(dtype, shape)) {}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : partial_(std::move(other.partial_)),
      path_(std::move(other.path_)),
      dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      header_(std::move(other.header_)),
      unfinished_(std::exchange(other.unfinished_, std::nullopt)),
      file_(std::exchange(other.file_, std::nullopt)) {}

NpyWriter::~NpyWriter() = default;

NpyWriter NpyWriter::create(const std::string& path, DType dtype, const Shape& shape) {
  const std::string target = file_to_replace(path);
  NpyWriter writer(partial_name(target), dtype, shape);
  writer.path_ = target;
  writer.unfinished_.emplace(writer.partial_);
  writer.file_.emplace(File::create(writer.partial_));
  writer.file_->resize(writer.header_.size() +
                       static_cast<std::uint64_t>(num_elements(shape)) * size_of(dtype));
  writer.file_->write_at(writer.header_.data(), writer.header_.size(), 0);
  return writer;
}

NpyWriter NpyWriter::join(const std::string& partial, DType dtype, const Shape& shape) {
  NpyWriter writer(partial, dtype, shape);
  writer.file_.emplace(File::open_to_write(partial));
  return writer;
}

void NpyWriter::write(const Region& region, const Shape& local, const void* data) {
  MW_CHECK(file_ && region.global == shape_);
  const std::size_t element = size_of(dtype_);
  const auto* from = static_cast<const std::byte*>(data);
  for_each_run(region, local, [&](const Run& run) {
    file_->write_at(from + static_cast<std::size_t>(run.local) * element,
                    static_cast<std::size_t>(run.count) * element,
                    header_.size() + static_cast<std::uint64_t>(run.global) * element);
  });
}

void NpyWriter::close() {
  MW_CHECK(file_);
  file_->sync();
  file_->close();
  file_.reset();
}

void NpyWriter::publish() {
  MW_CHECK(!file_ && unfinished_);
  rename_file(partial_, path_);
  unfinished_->keep();
  unfinished_.reset();
}

}  // namespace meshwork::data
