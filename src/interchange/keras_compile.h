#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "interchange/keras_json.h"

namespace meshwork {

/// `compile_config` of Keras's .keras: optimizer, losses and metrics. `outputs`: for each output of
/// the model the name of its layer in the file. Throws a configuration Error that names what Keras
/// has no words for.
Json keras_compile_config(const config::Config& config, const std::vector<std::string>& outputs);

}  // namespace meshwork
