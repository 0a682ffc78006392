#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "train/log_file.h"
#include "train/logs.h"

namespace meshwork {

/// Training steps and what they took.
struct Pace {
  double seconds = 0;
  double samples = 0;
  double samples_per_second() const { return seconds > 0 ? samples / seconds : 0; }
};

/// Names of all logs that a run may write: "metrics.csv".
std::vector<std::string> log_names();

/// The logs of a run: metrics.csv with a row per epoch and, where they are wanted, steps.csv with a
/// row per step; the same in other formats that `fit: log_format` names. A row that
/// cannot be written is missing; the first one of a file costs a warning.
///
/// A row of an epoch has the names of its logs in alphabetical order, as Keras's CSVLogger writes
/// them, then the seconds of its training steps, and the samples they trained on in a second. That
/// of a step has its loss, its seconds and its samples in a second.
class RunLogs {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `expected`: names that get a column though an epoch may not have them, such as val_loss where
  /// not every epoch validates. `state`: that of the run which goes on; null for a new one, whose
  /// files are emptied. Throws what File throws.
  RunLogs(const config::FitSpec& fit, const std::string& directory,
          const std::vector<std::string>& expected, const Json& state, Say say);
  ~RunLogs();
  RunLogs(const RunLogs&) = delete;
  RunLogs& operator=(const RunLogs&) = delete;

  void add_epoch(std::int64_t epoch, const Logs& logs, const Pace& pace);
  void add_step(std::int64_t step, double loss, const Pace& pace);
  bool wants_steps() const { return !steps_.empty(); }
  /// Also of the files that the run has written before, but does not any more.
  Json state() const;

 private:
  struct Open {
    std::string name;  ///< "metrics.csv"
    std::unique_ptr<LogFile> file;
    bool has_failed;  ///< a row, of which was warned
  };

  void open(const LogFormat& format, const std::string& directory, const std::string& table,
            const std::string& key, std::vector<Open>& logs);
  void add(std::vector<Open>& logs, const LogRow& row);

  std::vector<std::string> expected_;
  std::unique_ptr<const Json> known_;  ///< states of files, as they were when the run went on
  Say say_;
  std::vector<Open> metrics_, steps_;
};

/// Throws an Error with the place for a format that there is not.
void check_log_formats(const config::FitSpec& fit);

}  // namespace meshwork
