#pragma once

#include <exception>
#include <string>

namespace meshwork::cli {

/// The whole program: parses the command line, runs the command, says what went wrong.
/// Returns the exit code of the process.
int run(int argc, char** argv);

/// The same as the main program: makes the process ready before, and says what went wrong there.
int run_process(int argc, char** argv);

/// What a command has printed is its result: an Error of ExitCode::kFile where standard output did
/// not take it.
void flush_result();

/// How the process ends on an exception: its exit code, and what this rank prints to stderr.
struct Ending {
  int exit_code = 0;
  std::string message;  ///< without the name of the program
};

/// An Error is printed once, by rank 0; a bug of ours by every rank that meets it.
Ending ending_of(const std::exception_ptr& exception, int rank);

}  // namespace meshwork::cli
