#pragma once

#include <optional>

#include "cli/command.h"

namespace meshwork::cli {

/// Parses a command line into what it asks to be run. What is asked with --help or --version is
/// printed (by rank 0) and nothing is left to run. Throws Error for a command line that means
/// nothing, with the nearest known command or option.
std::optional<Run> parse(int argc, const char* const* argv, int rank);

}  // namespace meshwork::cli
