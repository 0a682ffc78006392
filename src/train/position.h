#pragma once

#include <cstdint>
#include <optional>

#include "job/job.h"
#include "state/checkpoint.h"
#include "train/logs.h"

namespace meshwork {

/// Where a run stood when a checkpoint was written.
struct Position {
  std::int64_t steps = 0;      ///< of the run
  std::int64_t iteration = 0;  ///< steps of its optimizer
  double learning_rate = 0;    ///< where no schedule sets it
  std::int64_t epoch = 0;      ///< epochs that are done
  std::int64_t step = 0;       ///< steps of the next one that are done
  Logs logs;                   ///< of the last epoch that is done
  std::string best;            ///< name of the best checkpoint of the run; "" for none
};

/// What stands for the samples of a run.
struct Fingerprints {
  std::uint64_t training = 0;
  std::optional<std::uint64_t> validation = {};  ///< none: the run does not validate
};

Position position_of(const Checkpoint& checkpoint);

/// The configuration of the run that wrote a checkpoint. Errors name the checkpoint.
config::Config config_of(const Checkpoint& checkpoint);

/// Throws an Error unless the job reads the data that the run read, in the same order, so that it
/// can go on where the checkpoint was written.
void check_same_data(const Checkpoint& checkpoint, const Job& job, const Fingerprints& mine);

}  // namespace meshwork
