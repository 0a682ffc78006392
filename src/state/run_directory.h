#pragma once

#include <string>

namespace meshwork {

/// Makes the directory of a run, with its parents, and writes `config_text`, the configuration with
/// all defaults and overrides, to config.yaml in it. A directory that is there already is used
/// again. Throws an Error of ExitCode::kFile unless files can be written in it.
///
/// To be called by one device; with others waiting, inside collectively().
void create_run_directory(const std::string& path, const std::string& config_text);

}  // namespace meshwork
