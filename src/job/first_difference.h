#pragma once

#include <string>
#include <utility>

namespace meshwork {

/// The first line in which two texts differ, of each; `missing` for one that has ended.
std::pair<std::string, std::string> first_difference(const std::string& one,
                                                     const std::string& other,
                                                     const std::string& missing);

}  // namespace meshwork
