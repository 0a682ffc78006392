#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "train/json_numbers.h"
#include "train/logs.h"

namespace meshwork {

/// A cell of a table whose cells are `separator` apart, in quotes where it needs them (RFC 4180).
std::string csv_cell(const std::string& text, char separator);

/// A row per epoch, as Keras's CSVLogger writes it: `epoch`, which counts from 0, and the names of
/// the first epoch's logs in alphabetical order; NA where an epoch has no value for a name.
///
///     epoch,accuracy,loss,val_accuracy,val_loss
///     0,0.823133349,0.499123842,0.8551,0.412345678
///
/// Nine significant digits, enough to give back every float. Each row is in the file when `add`
/// returns. Errors are those of File.
class MetricsLog {
 public:
  /// Creates or empties the file. `expected`: names that get a column though the first epoch may
  /// not have them, such as val_loss where not every epoch validates.
  explicit MetricsLog(const std::string& path, std::vector<std::string> expected = {});
  /// Goes on behind what `state`, of such a log, knows of the file; what is behind that is cut off.
  MetricsLog(const std::string& path, const Json& state);

  void add(std::int64_t epoch, const Logs& logs);
  Json state() const;

 private:
  File file_;
  std::vector<std::string> expected_;
  std::optional<std::vector<std::string>> columns_;  ///< none until the first row
};

/// A row per step: `step,loss`; steps count from 0.
class StepsLog {
 public:
  explicit StepsLog(const std::string& path);
  StepsLog(const std::string& path, const Json& state);

  void add(std::int64_t step, double loss);
  Json state() const;

 private:
  File file_;
};

}  // namespace meshwork
