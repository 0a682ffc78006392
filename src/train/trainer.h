#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "optim/optimizer.h"
#include "train/callbacks/callback.h"
#include "train/csv_log.h"
#include "train/evaluate.h"
#include "train/progress_bar.h"
#include "train/runner.h"

namespace meshwork {

/// How fit reads the data it trains on, to this memory.
data::LoaderOptions training_options(const Job& job,
                                     const data::StagingMemory& memory = data::heap_memory);

/// How training ended.
struct TrainerResult {
  Logs logs;               ///< of the last epoch, validation included
  std::string failure;     ///< what to say of a loss that is no number; "" if all went well
  bool is_usable = false;  ///< the weights are numbers: training went well, or they were restored
};

/// Keras's fit: epochs of training, each with validation and callbacks. All devices make the same
/// calls; what decides how it goes on is what the first device has computed.
class Trainer {
 public:
  Trainer(Session& session, int verbose, std::ostream& out);

  TrainerResult run();

 private:
  /// The files that the first device writes while training.
  struct Files {
    std::optional<MetricsLog> metrics;
    std::optional<StepsLog> steps;
  };

  Files open_files() const;
  Training make_training();
  Logs run_epoch(std::int64_t epoch);
  void run_step(std::int64_t epoch, std::int64_t step);
  void validate(Logs& logs);
  bool logs_learning_rate() const;

  Session& session_;
  const config::Config& config_;
  ProgressBar bar_;
  Training training_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::vector<KnownLog> known_logs_;
  Files files_;
  std::optional<Schedule> schedule_;  ///< of the optimizer; none: the rate is training_'s
  Runner runner_;
  data::Loader loader_;
  std::optional<Evaluator> evaluator_;
  bool has_batch_callbacks_ = false;
  std::int64_t iteration_ = 0;
};

}  // namespace meshwork
