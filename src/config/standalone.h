#pragma once

#include <string>

#include "config/config.h"

namespace meshwork::config {

/// The text of a configuration that needs no other description of its dataset, and may lie in any
/// folder: the description stands in it, with the folder of its files from the root on. It names
/// the directory that its run was given, whatever its file is called.
std::string standalone_text(const Config& config, const std::string& run_directory);

}  // namespace meshwork::config
