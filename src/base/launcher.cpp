#include "base/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace meshwork {
namespace {

// orterun and orted of Open MPI 4, prterun and prted of 5.
bool is_launcher(std::string_view command) {
  for (const std::string_view name : {"mpirun", "mpiexec", "orte", "prte"}) {
    if (command.starts_with(name)) return true;
  }
  return false;
}

}  // namespace

int launcher_process() {
  int pid = static_cast<int>(getppid());
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

}  // namespace meshwork
