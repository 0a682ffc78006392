#pragma once

#include <string>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// The assignments `key=value` that give a configuration the sizes of another program's model, by
/// `sizes` and `removes` of its weights_map. `root` is the configuration as read from `file`;
/// `source` is the config.json of Hugging Face beside the weights, or its folder. Throws Error with
/// place.
std::vector<std::string> assignments_of_sizes(const Value& root, const std::string& file,
                                              const std::string& source);

}  // namespace meshwork::config
