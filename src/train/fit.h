#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "config/path_pattern.h"
#include "job/job.h"
#include "state/run_directory.h"
#include "train/logs.h"
#include "train/trace.h"

namespace meshwork {

struct FitOptions {
  int verbose = 1;  ///< 0 silent, 1 progress bar, 2 a line per epoch
  /// A file of weights or the directory of a checkpoint to start from; "" for the initializers.
  std::string from = {};
  bool weights_only = false;  ///< of that checkpoint, without the optimizer's state
  /// Variables that begin with the initializers where `from` has none of their shape; then without
  /// the optimizer's state, too.
  std::optional<config::PathPattern> skip_mismatch = {};
  Rerun rerun = Rerun::kRefuse;  ///< what to do where a run has left something
  std::string command = {};      ///< for run.json: what the user has typed
  TraceOptions trace = {};       ///< of some of its steps
  /// Told run.json as one line, on the first device, when the run has ended, however it did.
  std::function<void(const std::string& line)> on_record = {};
};

/// What a run ends with.
struct FitResult {
  Logs logs;  ///< of the last epoch, validation included
  std::uint64_t digest = 0;
  /// Of a run that a signal ended before its time, what to say; "" for one that went to its end.
  std::string stopped = {};
};

/// Checks the callbacks of a job, and adds all programs that training runs.
void prepare_fit(Job& job);

/// Trains as Keras's fit does, on one of the devices of the job; all of them call it. Writes
/// run.json, logs (run_logs.h), memory.csv, checkpoints and final.safetensors in the run directory,
/// and what callbacks write. A loss that is no number ends the run with
/// ExitCode::kTraining at the end of its epoch; then there are final weights only if a callback has
/// restored earlier ones.
FitResult fit(const Job& job, const World& world, const FitOptions& options, std::ostream& out);

/// "final loss=0.123456789 accuracy=0.9712 digest=9f3c24a1b7d0e855": the last line of a command.
std::string final_line(const Logs& logs, std::uint64_t digest);

}  // namespace meshwork
