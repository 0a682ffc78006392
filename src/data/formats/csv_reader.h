#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace meshwork::data {

/// Splits text into records of cells (RFC 4180): cells may be quoted, quotes are doubled inside
/// quotes, lines end in \n or \r\n, and a quoted cell may hold line ends. Empty lines and a byte
/// order mark are skipped.
class CsvReader {
 public:
  /// `name` begins the errors. The text must outlive the reader.
  CsvReader(std::string name, std::string_view text, char delimiter);

  /// Reads the next record; false at the end. The cells hold until the next call.
  bool next(std::vector<std::string_view>& cells);

  /// "iris.csv:17", the line at which the last record began.
  std::string place() const;

 private:
  std::string_view plain_cell();
  std::string_view quoted_cell(std::size_t cell);
  bool skip_line_end();

  std::string name_;
  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 1;
  std::deque<std::string> unquoted_;  ///< cells that had doubled quotes, by their number
};

}  // namespace meshwork::data
