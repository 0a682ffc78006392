#pragma once

#include <string>

#include "config/config.h"

namespace meshwork {

/// config.json of Keras's .keras: the model as a Functional one without blocks, whose layers are
/// called as flat_name() says, and what it is compiled with. Throws a configuration Error that
/// names what Keras has no words for.
std::string keras_config(const config::Config& config);

}  // namespace meshwork
