#pragma once

#include <memory>
#include <string>

#include "cli/options.h"
#include "config/config.h"

namespace meshwork::cli {

/// What every command that reads a configuration takes: CONFIG [key=value ...] --mesh --device
/// --sizes-of.
struct ConfigArguments {
  std::string file;
  config::Overrides overrides;
};

/// Adds these to a command. The result is filled by the parse.
std::shared_ptr<ConfigArguments> add_config_arguments(Options& options);

/// Reads the configuration; an Error if no file was named.
config::Config load(const ConfigArguments& arguments);

}  // namespace meshwork::cli
