#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/growing_file.h"
#include "train/log_file.h"

namespace meshwork {

/// A cell of a table whose cells are `separator` apart, in quotes where it needs them (RFC 4180).
std::string csv_cell(const std::string& text, char separator);

/// A note of the names that are no columns of a table that goes on; "" if all are.
std::string describe_left_out(const std::string& path, const std::vector<std::string>& columns,
                              const std::vector<std::string>& names);

/// What to warn of where a row of a table, or of another log, could not be written.
std::string describe_missing_rows(const Error& error);

/// The file of a log whose state this is, as LogFormat::open says.
File open_log(const std::string& path, const Json* state);

/// A table whose columns are the key and the names of the first row; NA where a row has no value
/// for a name.
///
///     epoch,accuracy,loss,val_accuracy,val_loss,seconds,samples_per_second
///     0,0.823133349,0.499123842,0.8551,0.412345678,4.51,13303.4
///
/// Nine significant digits, enough to give back every float.
class CsvLog : public LogFile {
 public:
  CsvLog(const std::string& path, const std::string& key, const Json* state);

  void add(const LogRow& row) override;
  Json state() const override;
  std::string describe_left_out(const std::vector<std::string>& names) const override;

 private:
  GrowingFile file_;
  std::string key_;
  std::vector<std::string> columns_;
  bool has_header_ = false;
};

}  // namespace meshwork
