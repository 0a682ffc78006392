#include "data/npy_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "data/formats/npy_header.h"
#include "data/runs.h"

namespace meshwork::data {
namespace {

[[noreturn]] void fail_system(const std::string& path, const char* action) {
  fail(ExitCode::kFile, "{}: cannot {}: {}", path, action, std::strerror(errno));
}

Stored stored_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Stored::kFloat32;
    case DType::kInt32:
      return Stored::kInt32;
    case DType::kInt64:
      return Stored::kInt64;
    case DType::kUInt8:
      return Stored::kUInt8;
  }
  check_failed(__FILE__, __LINE__, "known dtype", {});
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path, DType dtype, const Shape& shape)
    : path_(path), dtype_(dtype), shape_(shape), header_(npy_header(stored_type(dtype), shape)) {}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : path_(std::move(other.path_)),
      dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      header_(std::move(other.header_)),
      fd_(std::exchange(other.fd_, -1)),
      remove_(std::exchange(other.remove_, false)) {}

NpyWriter::~NpyWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (remove_) std::remove(partial().c_str());
}

NpyWriter NpyWriter::create(const std::string& path, DType dtype, const Shape& shape) {
  NpyWriter writer(path, dtype, shape);
  const std::string partial = writer.partial();
  writer.fd_ = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.fd_ < 0) fail_system(partial, "create");
  writer.remove_ = true;
  const std::size_t size =
      writer.header_.size() + static_cast<std::size_t>(num_elements(shape)) * size_of(dtype);
  if (ftruncate(writer.fd_, static_cast<off_t>(size)) != 0) fail_system(partial, "size");
  writer.write_at(reinterpret_cast<const std::byte*>(writer.header_.data()), writer.header_.size(),
                  0);
  return writer;
}

NpyWriter NpyWriter::join(const std::string& path, DType dtype, const Shape& shape) {
  NpyWriter writer(path, dtype, shape);
  writer.fd_ = open(writer.partial().c_str(), O_WRONLY | O_CLOEXEC);
  if (writer.fd_ < 0) fail_system(writer.partial(), "open");
  return writer;
}

void NpyWriter::write(const Window& window, const Shape& local, const void* data) const {
  MW_CHECK(fd_ >= 0 && window.global == shape_);
  const Runs runs = runs_of(shape_, window.offset, local);
  const std::size_t element = size_of(dtype_);
  const std::size_t run = static_cast<std::size_t>(runs.length) * element;
  const auto* from = static_cast<const std::byte*>(data);
  for (const std::int64_t start : runs.starts) {
    write_at(from, run, header_.size() + static_cast<std::size_t>(start) * element);
    from += run;
  }
}

void NpyWriter::write_at(const std::byte* data, std::size_t size, std::size_t offset) const {
  while (size > 0) {
    const ssize_t written = pwrite(fd_, data, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system(partial(), "write");
    data += written;
    offset += static_cast<std::size_t>(written);
    size -= static_cast<std::size_t>(written);
  }
}

void NpyWriter::close() {
  MW_CHECK(fd_ >= 0);
  const int fd = std::exchange(fd_, -1);
  const bool synced = fsync(fd) == 0;
  if (!synced) {
    const int error = errno;
    ::close(fd);
    errno = error;
    fail_system(partial(), "write");
  }
  if (::close(fd) != 0) fail_system(partial(), "write");
}

void NpyWriter::publish() {
  MW_CHECK(fd_ < 0 && remove_);
  if (std::rename(partial().c_str(), path_.c_str()) != 0) fail_system(path_, "create");
  remove_ = false;
}

}  // namespace meshwork::data
