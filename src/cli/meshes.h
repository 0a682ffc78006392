#pragma once

#include <string>
#include <vector>

#include "cli/config_arguments.h"

namespace meshwork::cli {

/// Adds --meshes; the result is filled by the parse.
void add_meshes(Options& options, std::string& meshes);

/// The arguments with each of the meshes of --meshes: "8x1,4x2", or "all" that the devices make
/// along the axes of the configuration, those with most along the first axis first.
std::vector<ConfigArguments> with_meshes(const ConfigArguments& arguments,
                                         const std::string& meshes);

}  // namespace meshwork::cli
