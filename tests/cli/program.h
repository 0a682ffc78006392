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

/// The program of this build.
inline std::filesystem::path program_path() {
  namespace fs = std::filesystem;
  return fs::canonical(fs::read_symlink("/proc/self/exe").parent_path() / "../src/meshwork");
}

/// Runs a command as a shell would.
inline Finished run_command(const std::string& command) {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/meshwork_cli_XXXXXX";
  if (mkdtemp(folder) == nullptr) return {};
  const fs::path out = fs::path(folder) / "out";
  const fs::path err = fs::path(folder) / "err";
  const std::string whole = command + " >'" + out.string() + "' 2>'" + err.string() + "'";
  const int status = std::system(whole.c_str());
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(out), read_all(err)};
  fs::remove_all(folder);
  return finished;
}

/// Runs `environment meshwork arguments`.
inline Finished run_program(const std::string& arguments, const std::string& environment = "") {
  return run_command(environment + " '" + program_path().string() + "' " + arguments);
}

}  // namespace meshwork::cli
