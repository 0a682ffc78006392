#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/json_numbers.h"

namespace meshwork {

/// A line of a log: the number of an epoch or step, and named values, of which some may be missing.
struct LogRow {
  std::int64_t number = 0;  ///< from 0
  std::vector<std::pair<std::string, std::optional<double>>> values;
};

/// A file that gets a line for every row. Each is in the file when `add` returns. Errors are those
/// of File.
class LogFile {
 public:
  virtual ~LogFile() = default;
  virtual void add(const LogRow& row) = 0;
  /// What a run that goes on from here has to know of the file.
  virtual Json state() const = 0;
  /// A note if its rows have no place for some of these names, which it then leaves out; else "".
  virtual std::string describe_left_out(const std::vector<std::string>& /*names*/) const {
    return "";
  }
};

/// One format of logs, in the list of log_formats.cpp.
struct LogFormat {
  std::vector<std::string_view> names;  ///< "csv", which is also the end of the file's name
  /// Opens a log whose rows are numbered under the name `key`. Without a `state` the file is
  /// emptied. With that of such a log it goes on behind what that knows of the file, and cuts off
  /// the rest; one that is null knows nothing: behind the last whole line.
  std::unique_ptr<LogFile> (*open)(const std::string& path, const std::string& key,
                                   const Json* state);
};

const std::vector<const LogFormat*>& log_formats();

namespace log_files {
extern const LogFormat kCsv;
extern const LogFormat kJsonLines;
}  // namespace log_files

}  // namespace meshwork
