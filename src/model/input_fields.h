#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace meshwork {

/// Names that fields of labels may have beside "y", whether the data give them or not.
std::vector<std::string> label_names(const config::Config& config);

/// Of `fields`, the one that an input of the model takes: that of its name, else, where the model
/// has no other input, the only one that can be meant; nullopt: none. Fields called as one of
/// `labels`, and what tells of documents, are meant only where there is nothing else; "y" and the
/// weights of samples never are.
std::optional<std::string> field_for(const config::InputSpec& input, const config::ModelSpec& model,
                                     const std::vector<std::string>& fields,
                                     const std::vector<std::string>& labels);

}  // namespace meshwork
