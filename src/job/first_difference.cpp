#include "job/first_difference.h"

#include <sstream>

namespace meshwork {

std::pair<std::string, std::string> first_difference(const std::string& one,
                                                     const std::string& other,
                                                     const std::string& missing) {
  std::istringstream lines(one), other_lines(other);
  std::string line, other_line;
  do {
    const bool is_line = static_cast<bool>(std::getline(lines, line));
    const bool is_other = static_cast<bool>(std::getline(other_lines, other_line));
    if (!is_line) line = missing;
    if (!is_other) other_line = missing;
    if (!is_line && !is_other) break;
  } while (line == other_line);
  return {line, other_line};
}

}  // namespace meshwork
