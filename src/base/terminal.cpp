#include "base/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

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

bool is_launcher(std::string_view command) {
  constexpr std::array<std::string_view, 4> kNames{"mpirun", "mpiexec", "orte", "prte"};
  for (const std::string_view name : kNames) {
    if (command.starts_with(name)) return true;
  }
  return false;
}

/// The process above this one that is mpirun or its daemon; 0 if there is none.
pid_t find_launcher() {
  pid_t pid = getppid();
  while (pid > 1) {
    // "4711 (name, which may hold anything) S 4710 ..."
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(file, text);
    const std::size_t begin = text.find('(');
    const std::size_t end = text.rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end + 4 > text.size()) return 0;
    if (is_launcher(std::string_view(text).substr(begin + 1, end - begin - 1))) return pid;
    pid = std::atoi(text.c_str() + end + 4);
  }
  return 0;
}

/// The device that the launcher has at `fd`; "" if that is none.
std::string launcher_device(int fd) {
  const pid_t launcher = find_launcher();
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
