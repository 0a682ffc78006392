#pragma once

#include <string>

#include "config/value.h"

namespace meshwork::config {

/// Reads a YAML file. Duplicate keys, anchors to nowhere and syntax errors are Errors with place.
Value load_yaml(const std::string& file);

/// The same from text; `file` is what the places say.
Value parse_yaml(const std::string& text, const std::string& file);

}  // namespace meshwork::config
