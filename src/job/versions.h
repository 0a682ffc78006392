#pragma once

#include <map>
#include <string>

namespace meshwork {

/// Of Meshwork and of the libraries that its numbers depend on: {"meshwork": "0.1.0", "onednn":
/// "2.6.0", ...}.
std::map<std::string, std::string> versions();

}  // namespace meshwork
