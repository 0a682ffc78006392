#pragma once

#include <string>
#include <string_view>

namespace meshwork {

/// The first line of a file; "" if there is none.
std::string first_line(const std::string& path);

/// The value after "key<spaces>:" in a file such as /proc/cpuinfo; "" if there is none.
std::string field_of(const std::string& path, std::string_view key);

}  // namespace meshwork
