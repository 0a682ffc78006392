#include "machine/system_file.h"

#include <fstream>

namespace meshwork {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string field_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    const bool whole_key = line.find_first_not_of(" \t", key.size()) == colon;
    if (colon != std::string::npos && whole_key) {
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return {};
}

}  // namespace meshwork
