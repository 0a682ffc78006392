#include "base/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/launcher.h"
#include "base/quote.h"

namespace meshwork {
namespace {

int columns_of(int fd) {
  if (const char* text = std::getenv("COLUMNS")) {
    const int columns = std::atoi(text);
    if (columns > 0) return columns;
  }
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// What `read` says of the device at `path`; 0 if it cannot be opened.
template <class Read>
int ask_device(const std::string& path, Read read) {
  const int fd = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  const int answer = read(fd);
  close(fd);
  return answer;
}

/// The device that the launcher has at `fd`; "" if that is none.
std::string launcher_device(int fd) {
  const int launcher = launcher_process();
  std::error_code code;
  const auto path =
      std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", launcher, fd), code);
  return path.string().starts_with("/dev/") ? path.string() : "";
}

}  // namespace

Terminal terminal_of(int fd) {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) {
    return {.live = !dumb && isatty(fd) == 1, .columns = [fd] { return columns_of(fd); }};
  }
  // Open MPI gives a rank a terminal of its own to write to, even where mpirun writes to a file.
  const std::string device = launcher_device(fd);
  return {.live = !dumb && !device.empty() && ask_device(device, isatty) == 1,
          .columns = [device] { return ask_device(device, columns_of); }};
}

void say(std::string_view line) noexcept {
  try {
    const std::string text = "meshwork: " + visible(shortened(line)) + "\n";
    std::fputs(text.c_str(), stderr);
  } catch (const std::bad_alloc&) {
    std::fputs("meshwork: out of memory\n", stderr);
  }
}

}  // namespace meshwork
