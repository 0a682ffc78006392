#include "base/unfinished_file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

/// What `work` ends a process of its own with: an exit code, or a signal as a negative number.
template <class Work>
int ending_of(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1})
      ::signal(signal, SIG_DFL);  // doctest's
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("unfinished: a file goes with its object, unless that keeps it") {
  const test::TempDirectory directory;
  const std::string gone = directory.file("gone"), kept = directory.file("kept");
  {
    const UnfinishedFile unfinished(gone);
    replace_file(gone, "a");
    std::optional<UnfinishedFile> other(kept);
    replace_file(kept, "b");
    UnfinishedFile moved = std::move(*other);
    other.reset();
    CHECK(std::filesystem::exists(kept));
    moved.keep();
  }
  CHECK(!std::filesystem::exists(gone));
  CHECK(std::filesystem::exists(kept));
}

TEST_CASE("unfinished: a signal that ends the process removes files, and ends it as it would") {
  const test::TempDirectory directory;
  const std::string gone = directory.file("gone"), kept = directory.file("kept");
  const auto write = [&] {
    replace_file(gone, "a");
    replace_file(kept, "b");
  };
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    CAPTURE(signal);
    CHECK(ending_of([&] {
            std::vector<UnfinishedFile> files;
            files.reserve(40);
            files.emplace_back(gone);
            for (int i = 0; i < 39; ++i) files.emplace_back(directory.file("none"));
            UnfinishedFile(kept).keep();
            write();
            raise(signal);
          }) == -signal);
    CHECK(!std::filesystem::exists(gone));
    CHECK(std::filesystem::exists(kept));
  }
  CHECK(ending_of([&] {
          const UnfinishedFile file(gone);
          write();
          end_at_once(ExitCode::kCommunication);
        }) == static_cast<int>(ExitCode::kCommunication));
  CHECK(!std::filesystem::exists(gone));
}

TEST_CASE("unfinished: signals that the process ignores stay ignored") {
  const test::TempDirectory directory;
  CHECK(ending_of([&] {
          ::signal(SIGHUP, SIG_IGN);
          const UnfinishedFile file(directory.file("a"));
          raise(SIGHUP);
          _exit(7);
        }) == 7);
}

}  // namespace meshwork
