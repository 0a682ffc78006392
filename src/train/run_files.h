#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshwork {

/// The configuration of a run, with all that it was given beside its file.
constexpr const char* kConfigFile = "config.yaml";

/// Names of what a run writes in its directory beside what RunDirectory has there.
std::vector<std::string> run_files();

/// Whether a run itself writes what has this name in its directory.
bool is_of_run(std::string_view name);

}  // namespace meshwork
