#pragma once

#include <string_view>
#include <vector>

namespace meshwork {

/// The parts of the text between separators, one more than there are of these.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace meshwork
