#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// Lines of cells, all of a column as wide: the first column to the left, the others to the right.
std::string in_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace meshwork
