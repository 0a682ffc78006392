#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace meshwork::cli {

/// How a run of the program ended.
struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Runs `environment meshwork arguments`, as a shell would, with the program of this build.
inline Finished run_program(const std::string& arguments, const std::string& environment = "") {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "../src/meshwork";
  char folder[] = "/tmp/meshwork_cli_XXXXXX";
  if (mkdtemp(folder) == nullptr) return {};
  const fs::path out = fs::path(folder) / "out";
  const fs::path err = fs::path(folder) / "err";
  const std::string command = environment + " '" + program.string() + "' " + arguments + " >'" +
                              out.string() + "' 2>'" + err.string() + "'";
  const int status = std::system(command.c_str());
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(out), read_all(err)};
  fs::remove_all(folder);
  return finished;
}

}  // namespace meshwork::cli
