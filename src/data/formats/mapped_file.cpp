#include "data/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "data/formats/mapping_guard.h"

namespace meshwork::data {
namespace {

[[noreturn]] void fail_system(const std::string& path, const char* action) {
  fail(ExitCode::kFile, "{}: cannot {}: {}", path, action, std::strerror(errno));
}

/// Files up to this size are read: no page of theirs is shared with what others do to the file.
constexpr std::size_t kSmall = std::size_t{64} << 10U;

struct Descriptor {
  int fd;
  ~Descriptor() { close(fd); }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: a named pipe must not make us wait for a writer.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_system(path, "open");
  struct stat status {};
  if (fstat(file.fd, &status) != 0) fail_system(path, "stat");
  if (!S_ISREG(status.st_mode)) fail(ExitCode::kFile, "{}: not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size <= kSmall) {
    read_.resize(size);
    File::open(path).read_at(read_.data(), size, 0);
    bytes_ = read_;
    return;
  }
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) fail_system(path, "map");
  bytes_ = {static_cast<const std::byte*>(data), size};
  guard_mapping(bytes_, path_);
}

MappedFile::~MappedFile() {
  if (!is_mapped()) return;
  unguard_mapping(bytes_);
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::read_ahead() const {
  if (!is_mapped()) return;
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

void MappedFile::forget(std::size_t count) const {
  if (!is_mapped()) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t whole = count >= bytes_.size() ? bytes_.size() : count / page * page;
  if (whole > 0) madvise(const_cast<std::byte*>(bytes_.data()), whole, MADV_DONTNEED);
}

}  // namespace meshwork::data
