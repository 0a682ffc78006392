#pragma once

#include <ostream>
#include <string>

#include "job/job.h"
#include "train/logs.h"

namespace meshwork {

struct FitOptions {
  int verbose = 1;                   ///< 0 silent, 1 progress bar, 2 a line per epoch
  std::string initial_weights = {};  ///< a file to start from; "" for the initializers
};

/// What a run ends with.
struct FitResult {
  Logs logs;  ///< of the last epoch, validation included
  std::uint64_t digest = 0;
};

/// Checks the callbacks of a job, and adds all programs that training runs.
void prepare_fit(Job& job);

/// Trains as Keras's fit does, on one of the devices of the job; all of them call it. Writes
/// metrics.csv, steps.csv if wanted, memory.csv and final.safetensors in the run directory, and
/// what callbacks write. A loss that is no number ends the run with ExitCode::kTraining at the end
/// of its epoch; then there are final weights only if a callback has restored earlier ones.
FitResult fit(const Job& job, const World& world, const FitOptions& options, std::ostream& out);

/// Name of the file of final weights in a run directory.
constexpr const char* kFinalWeights = "final.safetensors";

/// "final loss=0.123456789 accuracy=0.9712 digest=9f3c24a1b7d0e855": the last line of a command.
std::string final_line(const Logs& logs, std::uint64_t digest);

}  // namespace meshwork
