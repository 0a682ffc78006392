#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/local_work.h"
#include "base/unfinished_file.h"

namespace meshwork {
namespace {

/// The kernel moves at most about 2 GiB in one call.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30U;

[[noreturn]] void fail_system(const std::string& path, std::string_view tried, int code) {
  fail(ExitCode::kFile, "{}: cannot {}: {}", path, tried, std::generic_category().message(code));
}

/// What goes past the cache of the system is whole ones of these, on any disk whose sectors are not
/// larger.
constexpr std::uint64_t kPage = 4096;

/// Calls `call` again while a signal interrupts it.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// For a call of the system; one that moves few bytes is none.
std::optional<LocalWork> work_of(std::size_t bytes) {
  constexpr std::size_t kMany = std::size_t{64} << 10U;
  return bytes >= kMany ? std::optional<LocalWork>(std::in_place) : std::nullopt;
}

/// Negative, with the reason in errno, where it cannot be opened.
int try_to_open(const std::string& path, int flags) {
  constexpr mode_t kMode = 0666;  // less the umask
  return retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); });
}

int open_fd(const std::string& path, int flags, std::string_view tried) {
  const int fd = try_to_open(path, flags);
  if (fd < 0) fail_system(path, tried, errno);
  return fd;
}

}  // namespace

File File::open(const std::string& path) {
  // Without O_NONBLOCK a named pipe would wait for its writer.
  File file(path, open_fd(path, O_RDONLY | O_NONBLOCK, "open"));
  struct stat status {};
  if (fstat(file.fd_, &status) != 0) fail_system(path, "open", errno);
  if (!S_ISREG(status.st_mode)) fail(ExitCode::kFile, "{}: not a regular file", path);
  return file;
}

File File::create(const std::string& path) {
  return {path, open_fd(path, O_WRONLY | O_CREAT | O_TRUNC, "create")};
}

File File::create_unbuffered(const std::string& path) {
  const int fd = try_to_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
  if (fd < 0) return create(path);
  return {path, fd, true};
}

File File::open_to_write(const std::string& path) {
  return {path, open_fd(path, O_WRONLY, "open to write")};
}

File File::open_to_append(const std::string& path) {
  return {path, open_fd(path, O_WRONLY | O_CREAT | O_APPEND, "open to write")};
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      unbuffered_(other.unbuffered_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(unbuffered_, other.unbuffered_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t File::size() const {
  struct stat status {};
  if (fstat(fd_, &status) != 0) fail_system(path_, "read the size", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void File::resize(std::uint64_t bytes) {
  const auto length = static_cast<off_t>(bytes);
  if (retried([&] { return ftruncate(fd_, length); }) != 0) {
    fail_system(path_, fmt::format("make a file of {} bytes", bytes), errno);
  }
}

void File::read_at(void* data, std::size_t bytes, std::uint64_t offset) const {
  auto* to = static_cast<std::byte*>(data);
  const std::optional<LocalWork> work = work_of(bytes);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kMaxTransfer);
    const auto got = retried([&] { return pread(fd_, to, part, static_cast<off_t>(offset)); });
    if (got < 0) fail_system(path_, fmt::format("read {} bytes at {}", bytes, offset), errno);
    if (got == 0) {
      fail(ExitCode::kFile, "{}: cannot read {} bytes at {}: the file ends", path_, bytes, offset);
    }
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void File::write_at(const void* data, std::size_t bytes, std::uint64_t offset) {
  const auto* from = static_cast<const std::byte*>(data);
  const std::optional<LocalWork> work = work_of(bytes);
  const bool is_of_pages = (reinterpret_cast<std::uintptr_t>(data) | bytes | offset) % kPage == 0;
  if (unbuffered_ && !is_of_pages) go_on_buffered();
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kMaxTransfer);
    const auto put = retried([&] { return pwrite(fd_, from, part, static_cast<off_t>(offset)); });
    if (put < 0 && errno == EINVAL && unbuffered_) {
      go_on_buffered();
      continue;
    }
    if (put <= 0) fail_system(path_, "write", put < 0 ? errno : ENOSPC);
    from += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
}

void File::go_on_buffered() {
  unbuffered_ = false;
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0 || fcntl(fd_, F_SETFL, flags & ~O_DIRECT) != 0) fail_system(path_, "write", errno);
}

void File::append(std::string_view text) {
  const std::optional<LocalWork> work = work_of(text.size());
  while (!text.empty()) {
    const auto put = retried([&] { return ::write(fd_, text.data(), text.size()); });
    if (put <= 0) fail_system(path_, "write", put < 0 ? errno : ENOSPC);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

bool File::lock() {
  if (retried([&] { return flock(fd_, LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno != EWOULDBLOCK) fail_system(path_, "lock", errno);
  return false;
}

void File::sync() {
  const LocalWork work;
  // EINVAL: a pipe or device that has nothing to wait for.
  if (retried([&] { return fsync(fd_); }) != 0 && errno != EINVAL) {
    fail_system(path_, "write", errno);
  }
}

void File::close() {
  const int fd = std::exchange(fd_, -1);
  MW_CHECK(fd >= 0, "{}", path_);
  // After EINTR the descriptor is gone all the same.
  if (::close(fd) != 0 && errno != EINTR) fail_system(path_, "write", errno);
}

void create_parent_directory(const std::string& file, std::string_view remedy) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  std::error_code code;
  if (!parent.empty()) std::filesystem::create_directories(parent, code);
  if (code) {
    fail(ExitCode::kFile, "{}: cannot create the directory: {}{}", parent.string(), code.message(),
         remedy);
  }
}

void sync_directory(const std::string& directory) {
  const int fd = open_fd(directory, O_RDONLY | O_DIRECTORY, "open");
  const LocalWork work;
  // File systems without that notion say EINVAL.
  const int code = retried([&] { return fsync(fd); }) == 0 ? 0 : errno;
  ::close(fd);
  if (code != 0 && code != EINVAL) fail_system(directory, "write", code);
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_system(to, "put in place", errno);
  const auto parent = std::filesystem::path(to).parent_path();
  sync_directory(parent.empty() ? "." : parent.string());
}

void remove_path(const std::string& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) fail_system(path, "remove", code.value());
}

std::int64_t free_space(const std::string& directory) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::error_code code;
  const std::uintmax_t bytes = std::filesystem::space(directory, code).available;
  const bool is_known = !code && bytes < static_cast<std::uintmax_t>(kMost);
  return is_known ? static_cast<std::int64_t>(bytes) : kMost;
}

std::string read_text_file(const std::string& path) {
  const File file = File::open(path);
  std::string text(file.size(), '\0');
  file.read_at(text.data(), text.size(), 0);
  return text;
}

bool is_regular_file(const std::string& path) {
  std::error_code unseen;
  return std::filesystem::is_regular_file(path, unseen);
}

std::string file_to_replace(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code code;
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, code); ++links) {
    if (links == kMostLinks) fail_system(path, "write", ELOOP);
    target = target.parent_path() / fs::read_symlink(target, code);
  }
  const fs::file_status status = fs::status(target, code);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail(ExitCode::kFile, "{}: not a regular file, which alone can be replaced; name another",
         path);
  }
  return target.string();
}

std::string partial_name(const std::string& file) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:04x}.partial", file, random(), random() & 0xffff);
}

std::string_view file_of_partial(std::string_view name) {
  constexpr std::string_view kEnd = ".partial", kDigits = "0123456789abcdef";
  constexpr std::size_t kCount = 12;
  if (!name.ends_with(kEnd)) return {};
  name.remove_suffix(kEnd.size());
  const std::size_t dot = name.rfind('.');
  const bool is_drawn = dot != std::string_view::npos && name.size() - dot == kCount + 1 &&
                        name.find_first_not_of(kDigits, dot + 1) == std::string_view::npos;
  return is_drawn ? name.substr(0, dot) : std::string_view();
}

void write_in_one_step(const std::string& file,
                       const std::function<void(const std::string& partial)>& write) {
  const std::string target = file_to_replace(file);
  UnfinishedFile partial(partial_name(target));
  write(partial.path());
  File written = File::open_to_write(partial.path());
  written.sync();
  written.close();
  rename_file(partial.path(), target);
  partial.keep();
}

void replace_file(const std::string& path, std::string_view text) {
  write_in_one_step(path, [&](const std::string& partial) {
    File file = File::create(partial);
    file.append(text);
    file.close();
  });
}

namespace {

/// Whether the text could be written over a file that is at least as long.
bool overwrite(const std::string& path, std::string_view text) {
  try {
    File file = File::open_to_write(path);
    if (file.size() < text.size()) return false;
    file.write_at(text.data(), text.size(), 0);
    file.resize(text.size());
    file.sync();
    file.close();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void replace_or_overwrite(const std::string& path, std::string_view text) {
  try {
    replace_file(path, text);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile || !overwrite(path, text)) throw;
  }
}

}  // namespace meshwork
