#include "data/formats/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"
#include "data/formats/gunzip.h"

namespace meshwork::data {
namespace {

// Deflate cannot shrink more than this, so a header that claims more is wrong.
constexpr std::size_t kBestRatio = 1040;

[[noreturn]] void fail_system(const std::string& path, const char* action) {
  fail(ExitCode::kFile, "{}: cannot {}: {}", path, action, std::strerror(errno));
}

[[noreturn]] void fail_size(const std::string& path, std::size_t size, std::size_t expected,
                            const std::string& why) {
  fail(ExitCode::kFile, "{}: {} bytes, but {} needs {}; the file is {}", path, size, why, expected,
       size < expected ? "cut off, fetch it again" : "damaged or has something else appended");
}

struct Descriptor {
  int fd;
  ~Descriptor() { close(fd); }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: a named pipe must not make us wait for a writer.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_system(path, "open");
  struct stat status {};
  if (fstat(file.fd, &status) != 0) fail_system(path, "stat");
  if (!S_ISREG(status.st_mode)) fail(ExitCode::kFile, "{}: not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) fail_system(path, "map");
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

HeapBytes HeapBytes::of_size(std::size_t size) {
  try {
    return {std::make_unique_for_overwrite<std::byte[]>(size), size};
  } catch (const std::bad_alloc&) {
    fail(ExitCode::kFile, "no memory for {} bytes of data", size);
  }
}

FileBytes::FileBytes(const std::string& path)
    : path_(path), file_(path), gzip_(is_gzip(file_.bytes())) {}

HeapBytes FileBytes::head(std::size_t count) const {
  HeapBytes head = HeapBytes::of_size(count);
  if (gzip_) {
    head.size = gunzip(path_, file_.bytes(), head.span());
  } else {
    head.size = std::min(count, file_.bytes().size());
    std::copy_n(file_.bytes().begin(), head.size, head.data.get());
  }
  return head;
}

void FileBytes::expect_size(std::size_t size, const std::string& why) {
  expected_ = size;
  why_ = why;
  const std::size_t have = file_.bytes().size();
  if (!gzip_ && have != size) fail_size(path_, have, size, why);
  if (gzip_ && size / kBestRatio > have) fail_size(path_, have, size, why + " however compressed");
}

std::span<const std::byte> FileBytes::all() const {
  if (!gzip_) return file_.bytes();
  if (is_unpacked_.load(std::memory_order_acquire)) return unpacked_.span();
  const std::lock_guard lock(mutex_);
  if (is_unpacked_.load(std::memory_order_relaxed)) return unpacked_.span();
  const std::size_t size = why_.empty() ? gunzip_size(path_, file_.bytes()) : expected_;
  // One byte more than needed: gunzip then meets the end of the stream and checks its checksum.
  HeapBytes bytes = HeapBytes::of_size(size + 1);
  const std::size_t have = gunzip(path_, file_.bytes(), bytes.span());
  if (have < size) fail_size(path_, have, size, why_);
  if (have > size) fail_size(path_, gunzip_size(path_, file_.bytes()), size, why_);
  bytes.size = size;
  unpacked_ = std::move(bytes);
  is_unpacked_.store(true, std::memory_order_release);
  return unpacked_.span();
}

}  // namespace meshwork::data
