#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "config/weights_map.h"

namespace meshwork::config {

/// The assignments `key=value` that give a configuration the sizes of another program's model, by
/// `sizes` and `removes` of its weights_map. `root` is the configuration as read from `file`;
/// `source` is the config.json of Hugging Face beside the weights, or its folder. Throws Error with
/// place.
std::vector<std::string> assignments_of_sizes(const Value& root, const std::string& file,
                                              const std::string& source);

/// Throws Error with place where the config.json of Hugging Face beside a file of weights, if there
/// is one, is of a model that the `needs` of the map refuse.
void check_model_beside(const WeightsMap& map, const std::string& weights);

}  // namespace meshwork::config
