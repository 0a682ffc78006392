#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace meshwork::config {

/// The assignments `key=value` that give a configuration the sizes of another program's model, by
/// `sizes` and `removes` of its weights_map. `source` is the config.json of Hugging Face beside the
/// weights, or its folder. Throws Error with place.
std::vector<std::string> assignments_of_sizes(const std::string& config_file,
                                              const Overrides& overrides,
                                              const std::string& source);

}  // namespace meshwork::config
