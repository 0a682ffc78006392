#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "optim/optimizer.h"
#include "state/run_directory.h"
#include "train/callbacks/callback.h"
#include "train/checkpointer.h"
#include "train/evaluate.h"
#include "train/position.h"
#include "train/progress_bar.h"
#include "train/pulse.h"
#include "train/run_logs.h"
#include "train/runner.h"
#include "train/step_times.h"

namespace meshwork {

/// How fit reads the data it trains on, to this memory, after so many steps of the run.
data::LoaderOptions training_options(const Job& job,
                                     const data::StagingMemory& memory = data::heap_memory,
                                     std::int64_t steps = 0);

/// How training ended.
struct TrainerResult {
  Logs logs;                ///< of the last epoch, validation included
  std::string failure;      ///< what to say of a loss that is no number; "" if all went well
  bool is_usable = false;   ///< the weights are numbers: training went well, or they were restored
  int signal = 0;           ///< that ended training before its time; 0 for none
  std::int64_t epochs = 0;  ///< that are done, those before this run included
  std::int64_t steps = 0;   ///< likewise
  Pace pace;                ///< of the steps since this process began
  StepTimes times;          ///< likewise
  std::string newest = {};  ///< the checkpoint to go on from; "" for none
  std::string elsewhere = {};  ///< the same, where it is in the second place
  std::int64_t saved = 0;      ///< steps after which the newest one was written; 0 for none
  std::string unsaved = {};    ///< why none was written in the end, though it was to be; else ""
};

/// Where training starts.
struct Start {
  const Checkpoint* resumed = nullptr;  ///< the run goes on from it; its variables are loaded
  std::int64_t iteration = 0;  ///< steps that the optimizer has done, of a run that begins anew
  /// Called by the first device when nothing can refuse the run any more, before its first step:
  /// from then on the run directory is its own.
  std::function<void()> on_begin = [] {};
  std::vector<std::string> notes = {};  ///< of the first device: what to tell of before that
  TraceOptions trace = {};
};

/// Keras's fit: epochs of training, each with validation and callbacks. All devices make the same
/// calls; what decides how it goes on is what the first device has computed.
class Trainer {
 public:
  /// Writes to the run directory behind all that can refuse the run.
  Trainer(Session& session, const RunDirectory& directory, const Start& start, int verbose,
          std::ostream& out);

  TrainerResult run();

 private:
  void open_files(const RunDirectory& directory, const Start& start);
  Training make_training(const RunDirectory& directory);
  bool run_epoch();
  void run_step();
  std::int64_t do_step(double rate);
  void write_trace();
  bool validate(Logs& logs);
  bool logs_learning_rate() const;
  TrainerResult result();
  void take_time(std::int64_t samples);

  // trainer_state.cpp
  bool copies_checkpoints() const;
  Snapshot snapshot(bool is_best);
  void restore(const Checkpoint& checkpoint);
  void restore_callbacks(const Checkpoint& checkpoint);
  void restore_best(const Json& state, const std::string& checkpoint);
  void restore_rate(double rate, std::optional<double> configured);
  std::optional<std::int64_t> bad_step();
  void save(bool is_best = false);
  void save_after_epoch();
  bool is_best();
  void listen();
  void take(const Signs& signs);
  Signs signs() const;

  Session& session_;
  const config::Config& config_;
  ProgressBar bar_;
  Training training_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::vector<KnownLog> known_logs_;
  std::optional<RunLogs> files_;      ///< of the first device
  float configured_rate_ = 0;         ///< the learning rate of the configuration, at its start
  std::optional<Schedule> schedule_;  ///< of the optimizer; none: the rate is training_'s
  Runner runner_;
  std::optional<StepTrace> trace_;  ///< until it is written
  std::int64_t steps_ = 0;          ///< of this run, those before it was resumed included
  data::Loader loader_;
  std::optional<Evaluator> evaluator_;
  bool has_batch_callbacks_ = false;
  std::int64_t iteration_ = 0;  ///< steps of the optimizer
  std::int64_t epoch_ = 0;      ///< the one under way, or the next one
  std::int64_t step_ = 0;       ///< steps of it that are done
  Logs logs_;                   ///< of the last epoch that is done
  Pace pace_;                   ///< of the epoch under way
  double lap_ = 0;              ///< seconds of the clock when the last step ended
  Pace all_pace_;               ///< since this process began
  StepTimes times_;             ///< likewise

  const Checkpoint* resumed_;
  Fingerprints fingerprints_;
  Pulse pulse_;
  PartCopies before_step_;  ///< with check_numerics
  std::optional<Checkpointer> checkpointer_;
  double saved_at_ = 0;  ///< seconds of the clock
  bool is_due_ = false;
  bool has_told_bad_step_ = false;
  int signal_ = 0;
};

}  // namespace meshwork
