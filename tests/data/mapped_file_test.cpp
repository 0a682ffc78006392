#include "data/formats/mapped_file.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

/// How a child process ends that cuts a file to nothing while it is mapped, and reads all of it.
struct Ended {
  int status = 0;
  std::string said;
};

Ended read_while_cut(const std::string& path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    const data::MappedFile file(path);
    std::filesystem::resize_file(path, 10);
    const auto bytes = file.bytes();
    const int sum = std::accumulate(bytes.begin(), bytes.end(), 0, [](int all, std::byte byte) {
      return all + std::to_integer<int>(byte);
    });
    _exit(sum == 97 * static_cast<int>(bytes.size()) ? 0 : 100);
  }
  close(ends[1]);
  Ended ended;
  char part[256];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
    ended.said.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace

TEST_CASE("a file that is cut while it is mapped ends the process with its name") {
  const TempDir dir;
  const Ended ended = read_while_cut(dir.write("f", std::string(1U << 20U, 'a')));
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == static_cast<int>(ExitCode::kFile));
  CHECK(ended.said.starts_with("meshwork: " + dir.file("f") + ": cannot be read to its end: "));
}

TEST_CASE("a small file is there as it was when it was opened") {
  const TempDir dir;
  const Ended ended = read_while_cut(dir.write("f", std::string(10000, 'a')));
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 0);
  CHECK(ended.said.empty());
}
