#include "job.h"

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace meshwork::test {

Ending run_job(const std::string& command) {
  const char* mpirun = std::getenv("MESHWORK_TEST_MPIRUN");
  const std::string start_of_script = std::string("mpirun() { timeout 120 ") +
                                      (mpirun != nullptr ? mpirun : "/usr/bin/mpirun") +
                                      " \"$@\"; }\nexec 2>&1\n";
  const auto start = std::chrono::steady_clock::now();
  Ending ending;
  FILE* pipe = popen((start_of_script + command).c_str(), "r");
  if (pipe == nullptr) return ending;
  std::array<char, 4096> buffer;
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) {
    ending.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ending;
}

double quick_seconds(int ranks, const std::string& program) {
  const std::string command = "mpirun --oversubscribe -n " + std::to_string(ranks) + " " + program;
  return 30 + 10 * run_job(command + " > /dev/null").seconds;
}

}  // namespace meshwork::test
