#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "cli/options.h"

namespace meshwork::cli {

/// What a command does once its options are parsed.
using Run = std::function<ExitCode()>;

/// A command: one file in commands/ and its line in commands.cpp.
struct Command {
  const char* name;              ///< "validate"
  const char* usage;             ///< what follows the name: "CONFIG [key=value ...] [options]"
  const char* summary;           ///< one line, for the list of commands
  const char* details;           ///< paragraphs below the options in --help: examples first
  Run (*add)(Options& options);  ///< adds its options, gives what runs after the parse
  bool prints_progress = false;  ///< what it prints is not its result, and may be lost
};

/// Every command, in the order of the help.
const std::vector<const Command*>& commands();

}  // namespace meshwork::cli
