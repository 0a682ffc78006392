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

/// What the config.json of Hugging Face beside a file of weights, if there is one, says otherwise
/// than the configuration `root`: a line for each of the `sizes` of the map but the context. Throws
/// Error with place where it is of a model that the `needs` refuse.
std::vector<std::string> check_model_beside(const WeightsMap& map, const Value& root,
                                            const std::string& weights);

}  // namespace meshwork::config
