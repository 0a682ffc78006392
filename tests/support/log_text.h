#pragma once

#include <algorithm>
#include <string>

#include "support/temp_directory.h"

namespace meshwork::test {

/// A table of a run's logs without its last columns, seconds and samples_per_second, which differ
/// from run to run.
inline std::string without_times(const std::string& table) {
  if (table.find(",seconds,samples_per_second\n") == std::string::npos) return table;
  std::string text;
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = std::min(table.find('\n', begin), table.size());
    const std::string line = table.substr(begin, end - begin);
    text += line.substr(0, line.rfind(',', line.rfind(',') - 1)) + '\n';
    begin = end + 1;
  }
  return text;
}

/// The text of a file; of a table that has times, without these.
inline std::string read_log(const std::string& path) { return without_times(read_text(path)); }

}  // namespace meshwork::test
