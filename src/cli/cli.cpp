#include "cli/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <optional>

#include "base/check.h"
#include "cli/parse.h"
#include "cli/rank.h"
#include "comm/mpi.h"

namespace meshwork::cli {
namespace {

ExitCode parse_and_run(int argc, const char* const* argv) {
  const std::optional<Run> run = parse(argc, argv, launched_rank());
  const ExitCode code = run ? (*run)() : ExitCode::kOk;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fail(ExitCode::kFile, "cannot write to standard output; is the disk full?");
  }
  return code;
}

}  // namespace

Ending ending_of(const std::exception_ptr& exception, int rank) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const std::string who = rank == 0 ? "" : fmt::format("rank {}: ", rank);
    return {static_cast<int>(error.code()), fmt::format("meshwork: {}{}", who, error.what())};
  } catch (const std::bad_alloc&) {
    return {1, fmt::format("meshwork: rank {}: out of memory; take a smaller batch or model, or "
                           "more devices",
                           rank)};
  } catch (const std::exception& bug) {
    return {1, fmt::format("meshwork: rank {}: a bug of meshwork, not of yours: {}; please report "
                           "it with the command line and the configuration",
                           rank, bug.what())};
  }
}

int run(int argc, char** argv) {
  try {
    return static_cast<int>(parse_and_run(argc, argv));
  } catch (...) {
    const Ending ending = ending_of(std::current_exception(), launched_rank());
    std::fflush(stdout);
    // Where all ranks fail alike, the message of rank 0 is the only one.
    let_rank_0_speak(launched_rank());
    fmt::print(stderr, "{}\n", ending.message);
    return ending.exit_code;
  }
}

}  // namespace meshwork::cli
