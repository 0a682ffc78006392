#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "model/model.h"

namespace meshwork {

/// A configuration that was written in "c.yaml".
config::Config config_of(const std::string& text);

/// `model: ` and the text; samples as the file states them, labels as given.
Graph build(const std::string& text, Mode mode = Mode::kPredict, std::int64_t batch = 4,
            const std::vector<Field>& label = {});

/// The message of the Error that `build` throws, "" if there is none.
std::string build_error(const std::string& text, Mode mode = Mode::kPredict,
                        const std::vector<Field>& label = {});

/// Paths of the variables, in order.
std::vector<std::string> variable_paths(const Graph& graph);

/// Names of the nodes' ops, in order.
std::vector<std::string> op_names(const Graph& graph);

}  // namespace meshwork
