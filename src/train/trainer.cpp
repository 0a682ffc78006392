#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/local_work.h"
#include "base/names.h"
#include "comm/collectively.h"
#include "data/fingerprint.h"
#include "train/numerics.h"

namespace meshwork {
namespace {

/// `epoch` counts from 0.
bool is_validated(const config::FitSpec& fit, std::int64_t epoch) {
  const auto& epochs = fit.validation_epochs;
  if (epochs.empty()) return (epoch + 1) % fit.validation_freq == 0;
  return std::find(epochs.begin(), epochs.end(), epoch + 1) != epochs.end();
}

/// The logs of the first device, on all: replicas may differ in their last bits where machines do.
void share(Logs& logs, HostGroup& hosts) {
  std::vector<double> values;
  for (const auto& [name, value] : logs) values.push_back(value);
  hosts.broadcast(values.data(), values.size() * sizeof(double), 0);
  std::size_t i = 0;
  for (auto& [name, value] : logs) value = values[i++];
}

/// Batches of one pass over the data.
std::int64_t steps_per_pass(const Job& job) {
  const config::FitSpec& fit = job.config.fit;
  const bool has_rest = !fit.drop_remainder && job.split.samples % fit.batch_size != 0;
  return job.split.samples / fit.batch_size + (has_rest ? 1 : 0);
}

/// Whether a path leads into a directory, as both are written.
bool lies_in(const std::string& file, const std::string& directory) {
  const std::filesystem::path inner = std::filesystem::path(file).lexically_relative(directory);
  return !inner.empty() && *inner.begin() != "..";
}

/// Reads some samples, or draws them.
Fingerprints fingerprints_of(const Job& job) {
  const LocalWork work;
  Fingerprints all{.training = data::fingerprint(job.split)};
  if (job.validation) all.validation = data::fingerprint(*job.validation);
  return all;
}

/// What to say of the first epoch that meets the end of the data before its last step; "" if none
/// does.
std::string describe_short_data(const Job& job) {
  const config::FitSpec& fit = job.config.fit;
  const std::int64_t pass = steps_per_pass(job);
  const std::int64_t steps = fit.steps_per_epoch.value_or(pass);
  // After as many epochs as a pass has steps it all begins again.
  const std::int64_t end = std::min(fit.epochs, fit.initial_epoch + pass);
  for (std::int64_t epoch = fit.initial_epoch; epoch < end; ++epoch) {
    const std::int64_t done = (epoch % pass) * (steps % pass) % pass;
    if (steps <= pass - done) continue;
    return fmt::format(
        "warning: {}: fit: steps_per_epoch is {}, but the data end after step {} of epoch {}; the "
        "epoch goes on with the next pass over them, where Keras ends it; leave steps_per_epoch "
        "out for epochs of one pass",
        to_string(fit.at), steps, pass - done, epoch + 1);
  }
  return "";
}

std::string describe_failure(double loss, std::int64_t epoch, std::int64_t step) {
  return fmt::format(
      "epoch {}, step {}: the loss is {}; lower the learning rate, clip gradients (clipnorm), or "
      "look for bad values in the data",
      epoch + 1, step, without_nan_sign(loss));
}

/// What to say of an epoch of so many steps; "" if nothing.
std::string describe_left_out(const StepsLeftOut& left_out, std::int64_t epoch,
                              std::int64_t steps) {
  if (left_out.without_loss > 0) {
    return fmt::format(
        "epoch {}: warning: the loss of {} of {} steps is no number, first of step {}; the loss "
        "scale leaves them out, and so do the means",
        epoch + 1, left_out.without_loss, steps, left_out.first);
  }
  if (steps == 0 || left_out.all < steps) return "";
  return fmt::format(
      "epoch {}: warning: the loss scale leaves out all {} steps, for their gradients are not "
      "finite; it is halved until they are",
      epoch + 1, steps);
}

}  // namespace

data::LoaderOptions training_options(const Job& job, const data::StagingMemory& memory,
                                     std::int64_t steps) {
  const config::FitSpec& fit = job.config.fit;
  data::LoaderOptions options{.batch_size = fit.batch_size,
                              .shuffle = fit.shuffle,
                              .seed = job.config.seed,
                              .steps_per_epoch = fit.steps_per_epoch,
                              .drop_remainder = fit.drop_remainder,
                              .prefetch = fit.prefetch,
                              .augment = true,
                              .threads = reader_threads(job),
                              .memory = memory};
  // An epoch that counts as done has had its part of the data.
  options.first_step =
      fit.initial_epoch * fit.steps_per_epoch.value_or(steps_per_pass(job)) + steps;
  return options;
}

Trainer::Trainer(Session& session, const RunDirectory& directory, const Start& start, int verbose,
                 std::ostream& out)
    : session_(session),
      config_(session.job().config),
      bar_(out, session.is_first() ? verbose : 0, terminal_of(1)),
      training_(make_training(directory)),
      callbacks_(make_callbacks(config_)),
      known_logs_(known_logs(config_)),
      runner_(session, ProgramKind::kTrain, session.job().split),
      steps_(start.resumed != nullptr ? position_of(*start.resumed).steps : 0),
      loader_(session.job().split,
              training_options(session.job(), runner_.staging_memory(), steps_), runner_.parts()),
      iteration_(start.iteration),
      epoch_(config_.fit.initial_epoch),
      resumed_(start.resumed),
      fingerprints_(fingerprints_of(session.job())),
      pulse_(session.hosts()),
      saved_at_(steady_seconds()) {
  const Schedule rate = learning_rate_of(config_.compile->optimizer);
  configured_rate_ = training_.learning_rate = static_cast<float>(rate(0));
  if (schedule_of(config_.compile->optimizer)) schedule_ = rate;
  if (!start.trace.file.empty()) trace_.emplace(session, start.trace);
  if (session.job().validation) evaluator_.emplace(session, validation_part(session.job()));
  has_batch_callbacks_ =
      std::any_of(callbacks_.begin(), callbacks_.end(),
                  [](const auto& callback) { return callback->wants_batches(); });
  if (config_.checkpoint.wanted) {
    checkpointer_.emplace(session.hosts(), config_, directory, copies_checkpoints(), training_.say);
  }
  for (const std::string& note : start.notes) training_.say(note);
  if (resumed_ != nullptr) restore(*resumed_);
  open_files(directory, start);
}

Training Trainer::make_training(const RunDirectory& directory) {
  Training training;
  training.is_first = session_.is_first();
  training.run_directory = directory.path();
  training.overwrites = directory.overwrites();
  training.current_rate = [this] {
    return schedule_ ? (*schedule_)(iteration_) : static_cast<double>(training_.learning_rate);
  };
  training.iterations = [this] {
    return iteration_ / steps_per_update(config_.compile->optimizer);
  };
  training.say = [this](const std::string& line) {
    if (session_.is_first()) bar_.print(line);
  };
  training.collectively = [this](const std::function<void()>& work) {
    collectively(session_.hosts(), work);
  };
  training.save_weights = [this, &directory](const std::string& file) {
    collectively(session_.hosts(), [&] {
      if (!session_.is_first()) return;
      if (lies_in(file, directory.path())) directory.check_held();
      create_parent_directory(file);
    });
    session_.save_weights(file);
  };
  training.copy_weights = [this] { return session_.copy_weights(); };
  training.restore_weights = [this](const WeightsCopy& copy) { session_.restore_weights(copy); };
  training.take_averages = [this] { session_.take_averages(); };
  return training;
}

TrainerResult Trainer::result() {
  TrainerResult result;
  result.logs = logs_;
  result.signal = signal_;
  result.epochs = epoch_;
  result.steps = steps_;
  result.pace = all_pace_;
  result.times = times_;
  if (resumed_ != nullptr) {
    result.newest = resumed_->directory();
    result.saved = position_of(*resumed_).steps;
  }
  if (!checkpointer_) return result;
  if (!checkpointer_->newest().empty()) result.newest = checkpointer_->newest();
  result.elsewhere = checkpointer_->elsewhere();
  result.saved = checkpointer_->written().value_or(result.saved);
  result.unsaved = checkpointer_->failure();
  return result;
}

TrainerResult Trainer::run() {
  std::string failure;
  const std::string warning = describe_short_data(session_.job());
  if (!warning.empty()) training_.say(warning);
  for (const auto& callback : callbacks_) callback->begin_training(training_);
  if (resumed_ != nullptr) restore_callbacks(*resumed_);
  // What stopped in the middle of an epoch still has its end before it.
  while (epoch_ < config_.fit.epochs && !(training_.stop && step_ == 0) && signal_ == 0) {
    if (!run_epoch()) break;
    const double loss = logs_.at(names::kLoss);
    if (!std::isfinite(loss)) {
      failure = describe_failure(loss, epoch_ - 1, runner_.bad_step().value_or(1));
      break;
    }
    save_after_epoch();
  }
  if (checkpointer_) checkpointer_->complete();
  if (trace_) write_trace();
  if (signal_ != 0) {
    const auto step = bad_step();
    if (!step) return result();
    signal_ = 0;  // there is nothing to go on with
    failure = describe_failure(runner_.logs().at(names::kLoss), epoch_, *step);
  }
  const bool is_well = failure.empty();
  const bool averages = averages_weights(config_.compile->optimizer);
  if (is_well && averages && iteration_ > 0) {
    session_.take_averages();
  }
  for (const auto& callback : callbacks_) callback->end_training(training_);
  TrainerResult trained = result();
  trained.failure = failure;
  trained.is_usable = is_well || training_.restored;
  return trained;
}

/// False where a signal has ended it before its end.
bool Trainer::run_epoch() {
  if (step_ == 0) {
    for (const auto& callback : callbacks_) callback->begin_epoch(epoch_, training_);
    runner_.reset();
    pace_ = {};
  }
  const std::int64_t steps = loader_.steps_per_epoch();
  bar_.begin_epoch(epoch_, config_.fit.epochs, steps, step_);
  lap_ = steady_seconds();
  while (step_ < steps && !training_.stop) {
    run_step();
    if (trace_ && trace_->is_full()) write_trace();
    listen();
    if (is_due_ || signal_ != 0) {
      save();
      lap_ = steady_seconds();
    }
    if (signal_ != 0) return false;
  }
  Logs logs = runner_.logs();
  take_time(0);
  if (evaluator_ && is_validated(config_.fit, epoch_) && !validate(logs)) {
    save();  // all steps of the epoch are done: who goes on from here validates first
    return false;
  }
  logs_ = std::move(logs);
  if (logs_learning_rate()) logs_["learning_rate"] = static_cast<double>(training_.learning_rate);
  share(logs_, session_.hosts());
  const std::string warning = describe_left_out(runner_.left_out(), epoch_, step_);
  if (!warning.empty()) training_.say(warning);
  for (const auto& callback : callbacks_) callback->end_epoch(epoch_, logs_, training_);
  for (const auto& callback : callbacks_) callback->after_epoch(training_);
  bar_.finish(logs_);
  if (files_) files_->add_epoch(epoch_, logs_, pace_);
  ++epoch_;
  step_ = 0;
  return true;
}

/// One step; of one that computes what is not finite nothing is left but a checkpoint of before.
std::int64_t Trainer::do_step(double rate) {
  if (!config_.debug.check_numerics) return runner_.step(loader_, iteration_, rate);
  std::optional<Snapshot> before;
  if (checkpointer_) {
    before = snapshot(false);
    before->parts = before_step_.copy(before->tensors, before->parts);
  }
  try {
    return runner_.step(loader_, iteration_, rate);
  } catch (const NonFiniteError& error) {
    std::string saved;
    if (before) {
      checkpointer_->save(std::move(*before));
      checkpointer_->complete();
      saved = fmt::format("; the checkpoint after step {} is from before it", steps_);
    }
    fail(ExitCode::kTraining, "epoch {}, step {}: {}{}", epoch_ + 1, step_ + 1, error.what(),
         saved);
  }
}

void Trainer::write_trace() {
  runner_.set_trace(nullptr);
  const std::string warning = trace_->write();
  if (!warning.empty()) training_.say(warning);
  trace_.reset();
  lap_ = steady_seconds();
}

void Trainer::run_step() {
  const double rate =
      schedule_ ? (*schedule_)(iteration_) : static_cast<double>(training_.learning_rate);
  if (trace_) runner_.set_trace(trace_->begin(steps_ + 1) ? &*trace_ : nullptr);
  const std::int64_t samples = do_step(rate);
  if (files_ && files_->wants_steps()) runner_.loss();
  take_time(samples);
  ++iteration_;
  ++steps_;
  ++step_;
  if (has_batch_callbacks_) {
    Logs logs = runner_.logs();
    const double loss = runner_.loss();
    if (!std::isfinite(loss)) logs[names::kLoss] = loss;  // the means may be without it
    share(logs, session_.hosts());
    for (const auto& callback : callbacks_) {
      if (callback->wants_batches()) callback->end_batch(epoch_, step_ - 1, logs, training_);
    }
  }
  if (session_.is_first()) bar_.update(step_, [&] { return runner_.logs(); });
}

/// Counts what has passed since the step before, or since the epoch began.
void Trainer::take_time(std::int64_t samples) {
  const double now = steady_seconds();
  const Pace step{now - lap_, static_cast<double>(samples)};
  lap_ = now;
  for (Pace* pace : {&pace_, &all_pace_}) {
    pace->seconds += step.seconds;
    pace->samples += step.samples;
  }
  if (samples == 0) return;
  times_.add(step.seconds);
  if (files_ && files_->wants_steps()) files_->add_step(steps_, runner_.loss(), step);
}

/// Adds the results of validation; false where a signal has ended it before its end.
bool Trainer::validate(Logs& logs) {
  // Of its own: these steps take another time than those of training.
  Pulse pulse(session_.hosts());
  for (const auto& callback : callbacks_) callback->begin_validation(training_);
  const std::optional<Logs> results = evaluator_->run([&] {
    if (const auto all = pulse.after_step(signs())) take(*all);
    return signal_ == 0;
  });
  for (const auto& callback : callbacks_) callback->end_validation(training_);
  if (!results) return false;
  for (const auto& [name, value] : *results) logs["val_" + name] = value;
  return true;
}

bool Trainer::logs_learning_rate() const {
  return std::any_of(known_logs_.begin(), known_logs_.end(),
                     [](const KnownLog& log) { return log.name == "learning_rate"; });
}

}  // namespace meshwork
