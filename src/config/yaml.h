#pragma once

#include <string>

#include "config/value.h"

namespace meshwork::config {

/// Reads a YAML file. Duplicate keys, anchors to nowhere, more than one document and syntax errors
/// are Errors with place. An empty file is a null value.
Value load_yaml(const std::string& file);

/// The same from text; `file` is what the places say.
Value parse_yaml(const std::string& text, const std::string& file);

/// The same from text that was not written in a file: every place is `at`.
Value parse_yaml_at(const std::string& text, const Location& at);

/// The value as YAML text that reads back as the same value.
std::string to_yaml(const Value& value);

/// The same on one line, as people and the command line write it: "{units: 7, activation: relu}".
std::string to_line(const Value& value);

}  // namespace meshwork::config
