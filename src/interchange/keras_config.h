#pragma once

#include <string>

#include "config/config.h"
#include "graph/graph.h"

namespace meshwork {

/// config.json of Keras's .keras: the model as a Functional one without blocks, whose layers are
/// called as flat_name() says, and what it is compiled with. `graph`: its predicting program.
/// Throws a configuration Error that names what Keras has no words for.
std::string keras_config(const config::Config& config, const Graph& graph);

}  // namespace meshwork
