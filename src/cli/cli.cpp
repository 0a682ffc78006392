#include "cli/cli.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "base/terminal.h"
#include "cli/parse.h"
#include "cli/rank.h"
#include "comm/mpi.h"
#include "machine/signals.h"
#include "machine/topology.h"

namespace meshwork::cli {
namespace {

/// What is opened must not take the place of a stream that is closed, and be written to as such.
void open_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) open("/dev/null", O_RDWR);
  }
}

bool takes_output() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

void flush_progress() {
  if (takes_output()) return;
  say("warning: standard output did not take all that was printed; is the disk full, or its "
      "reader gone?");
}

ExitCode parse_and_run(int argc, const char* const* argv) {
  const std::optional<Task> task = parse(argc, argv, launched_rank());
  const bool prints_progress = task && task->prints_progress;
  if (prints_progress) std::signal(SIGPIPE, SIG_IGN);
  const ExitCode code = task ? task->run() : ExitCode::kOk;
  prints_progress ? flush_progress() : flush_result();
  return code;
}

/// The exit code of `work`, or of how it fails, which is printed.
int run_and_report(const std::function<int()>& work) {
  try {
    return work();
  } catch (...) {
    const Ending ending = ending_of(std::current_exception(), launched_rank());
    std::fflush(stdout);
    // Where all ranks fail alike, the message of rank 0 is the only one.
    let_rank_0_speak(launched_rank());
    say(ending.message);
    return ending.exit_code;
  }
}

}  // namespace

void flush_result() {
  if (takes_output()) return;
  fail(ExitCode::kFile, "cannot write to standard output; is the disk full, or its reader gone?");
}

Ending ending_of(const std::exception_ptr& exception, int rank) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const std::string who = rank == 0 ? "" : fmt::format("rank {}: ", rank);
    return {static_cast<int>(error.code()), fmt::format("{}{}", who, error.what())};
  } catch (const std::bad_alloc&) {
    return {1, fmt::format("rank {}: out of memory; take a smaller batch or model, or "
                           "more devices",
                           rank)};
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {
      return {static_cast<int>(ExitCode::kFile),
              fmt::format("cannot write to standard output: {}", error.code().message())};
    }
    // Of the standard library: threads, which take memory, and of which there may be a limit.
    return {1, fmt::format("rank {}: the system refuses a thread or something else: {}; see "
                           "ulimit -u and ulimit -v, or take fewer devices or threads "
                           "(OMP_NUM_THREADS)",
                           rank, error.code().message())};
  } catch (const std::exception& bug) {
    return {1, fmt::format("rank {}: a bug of meshwork, not of yours: {}; please report "
                           "it with the command line and the configuration",
                           rank, bug.what())};
  }
}

int run(int argc, char** argv) {
  return run_and_report([&] { return static_cast<int>(parse_and_run(argc, argv)); });
}

int run_process(int argc, char** argv) {
  open_closed_streams();
  drop_handlers_of_libraries();
  return run_and_report([&] {
    prepare_process(argv);
    const SignalThread signals;
    return run(argc, argv);
  });
}

}  // namespace meshwork::cli
