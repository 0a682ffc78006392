#pragma once

#include <string>

#include "config/config.h"

namespace meshwork::config {

/// The description of a dataset, as in Config: that of a configuration, whose other keys nobody
/// reads, or a file of its own, whose keys assignments name as they do in a configuration
/// (`dataset.take=100`). Throws a configuration Error if the file has none.
Value load_dataset(const std::string& file, const Overrides& overrides);

}  // namespace meshwork::config
