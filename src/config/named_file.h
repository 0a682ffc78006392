#pragma once

#include <string>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// "." for a file without one.
std::string folder_of(const std::string& file);

/// The YAML file that a configuration names, by a word, `fashion_mnist`, which is looked for in
/// `folders`, or by a path, which starts in the folder of the configuration `config_file`, on the
/// command line in the working directory. `what` names the key in the Errors: "dataset".
std::string find_named_file(const Value& name, const std::string& what,
                            const std::vector<std::string>& folders,
                            const std::string& config_file);

}  // namespace meshwork::config
