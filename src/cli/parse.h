#pragma once

#include <optional>

#include "cli/command.h"

namespace meshwork::cli {

/// What a command line asks for.
struct Task {
  Run run;
  bool prints_progress = false;  ///< see Command
};

/// Parses a command line into what it asks to be run. What is asked with --help or --version is
/// printed (by rank 0) and nothing is left to run. Throws Error for a command line that means
/// nothing, with the nearest known command or option.
std::optional<Task> parse(int argc, const char* const* argv, int rank);

}  // namespace meshwork::cli
