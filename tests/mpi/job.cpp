#include "job.h"

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace meshwork::test {

Ending run_job(const std::string& command) {
  const char* mpirun = std::getenv("MESHWORK_TEST_MPIRUN");
  const std::string script = std::string("mpirun() { timeout 120 ") +
                             (mpirun != nullptr ? mpirun : "/usr/bin/mpirun") +
                             " \"$@\"; }\nexec 2>&1\n" + command;
  setenv("MESHWORK_TEST_SCRIPT", script.c_str(), 1);
  const auto start = std::chrono::steady_clock::now();
  Ending ending;
  // For what the function above does not catch: mpirun in the background.
  FILE* pipe = popen("exec timeout -s KILL 240 sh -c \"$MESHWORK_TEST_SCRIPT\"", "r");
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

std::string wait_for(const std::string& pattern) {
  return "while kill -0 $P && ! ls " + pattern + " > /dev/null 2>&1; do sleep 0.01; done\n";
}

std::string process_of(int rank) {
  return "$(for p in $(pgrep -P $P); do grep -qzx OMPI_COMM_WORLD_RANK=" + std::to_string(rank) +
         " /proc/$p/environ && echo $p; done)";
}

double quick_seconds(int ranks, const std::string& program) {
  const std::string command = "mpirun --oversubscribe -n " + std::to_string(ranks) + " " + program;
  return 30 + 10 * run_job(command + " > /dev/null").seconds;
}

}  // namespace meshwork::test
