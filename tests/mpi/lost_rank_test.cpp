// Starts jobs in which a rank fails, and looks at how they end.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Ending {
  int exit_code = -1;
  double seconds = 0;
  std::string output;
};

/// `program` and `mpirun` come from the environment of the test.
Ending run_job(const std::string& arguments) {
  const std::string command = "timeout 40 " + std::string(std::getenv("MESHWORK_TEST_MPIRUN")) +
                              " --oversubscribe " + arguments + " 2>&1";
  const auto start = std::chrono::steady_clock::now();
  Ending ending;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) {
    ending.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ending;
}

Ending run_failing(const std::string& way) {
  return run_job("-n 4 " + std::string(std::getenv("MESHWORK_TEST_FAILING_RANK")) + " " + way);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a job in which no rank fails says nothing") {
  const Ending ending = run_failing("none");
  CHECK(ending.exit_code == 0);
  CHECK(ending.output == "");
}

TEST_CASE("a rank that is lost ends the job within seconds") {
  for (const char* way : {"kill", "exit", "leave", "abort"}) {
    CAPTURE(way);
    const Ending ending = run_failing(way);
    CAPTURE(ending.output);
    CHECK(ending.exit_code != 0);
    CHECK(ending.exit_code != 124);
    CHECK(ending.seconds < 15);
  }
  CHECK(run_failing("kill").exit_code == 128 + 9);
  CHECK(run_failing("abort").exit_code == 75);
  CHECK(run_failing("exit").exit_code == 3);
}

TEST_CASE("an exception of one rank ends the job with its exit code and is seen") {
  const Ending thrown = run_failing("throw");
  CHECK(thrown.exit_code == 1);
  CHECK(contains(thrown.output, "exception: rank 1 has had enough\n"));
  CHECK(thrown.seconds < 15);
  const Ending error = run_failing("error");
  CHECK(error.exit_code == 3);
  CHECK(contains(error.output, "error: data/train.npy: no such file\n"));
  CHECK(error.seconds < 15);
}
