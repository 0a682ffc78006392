#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "comm/collectively.h"
#include "state/run_directory.h"

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
  const bool has_rest = !fit.drop_remainder && job.train.samples % fit.batch_size != 0;
  return job.train.samples / fit.batch_size + (has_rest ? 1 : 0);
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
        "{}: warning: fit: steps_per_epoch is {}, but the data end after step {} of epoch {}; the "
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

}  // namespace

data::LoaderOptions training_options(const Job& job, const data::StagingMemory& memory) {
  const config::FitSpec& fit = job.config.fit;
  data::LoaderOptions options{.batch_size = fit.batch_size,
                              .shuffle = fit.shuffle,
                              .seed = job.config.seed,
                              .steps_per_epoch = fit.steps_per_epoch,
                              .drop_remainder = fit.drop_remainder,
                              .prefetch = fit.prefetch,
                              .augment = true,
                              .memory = memory};
  // An epoch that counts as done has had its part of the data.
  options.first_step = fit.initial_epoch * fit.steps_per_epoch.value_or(steps_per_pass(job));
  return options;
}

Trainer::Trainer(Session& session, int verbose, std::ostream& out)
    : session_(session),
      config_(session.job().config),
      bar_(out, session.is_first() ? verbose : 0, terminal_of(1)),
      training_(make_training()),
      callbacks_(make_callbacks(config_)),
      known_logs_(known_logs(config_)),
      files_(open_files()),
      runner_(session, ProgramKind::kTrain, session.job().train),
      loader_(session.job().train, training_options(session.job(), runner_.staging_memory()),
              runner_.parts()) {
  const Schedule rate = learning_rate_of(config_.compile->optimizer);
  training_.learning_rate = static_cast<float>(rate(0));
  if (schedule_of(config_.compile->optimizer)) schedule_ = rate;
  if (session.job().validation) evaluator_.emplace(session, validation_part(session.job()));
  has_batch_callbacks_ =
      std::any_of(callbacks_.begin(), callbacks_.end(),
                  [](const auto& callback) { return callback->wants_batches(); });
}

Trainer::Files Trainer::open_files() const {
  Files files;
  collectively(session_.hosts(), [&] {
    if (!session_.is_first()) return;
    create_run_directory(config_.run_directory, config_.text);
    std::vector<std::string> columns;
    for (const KnownLog& log : known_logs_) columns.push_back(log.name);
    files.metrics.emplace(config_.run_directory + "/metrics.csv", columns);
    if (config_.fit.log_steps) files.steps.emplace(config_.run_directory + "/steps.csv");
  });
  return files;
}

Training Trainer::make_training() {
  Training training;
  training.is_first = session_.is_first();
  training.run_directory = config_.run_directory;
  training.say = [this](const std::string& line) {
    if (session_.is_first()) bar_.print(line);
  };
  training.collectively = [this](const std::function<void()>& work) {
    collectively(session_.hosts(), work);
  };
  training.save_weights = [this](const std::string& file) {
    collectively(session_.hosts(), [&] {
      if (session_.is_first()) create_parent_directory(file);
    });
    session_.save_weights(file);
  };
  training.copy_weights = [this] { return session_.copy_weights(); };
  training.restore_weights = [this](const WeightsCopy& copy) { session_.restore_weights(copy); };
  return training;
}

TrainerResult Trainer::run() {
  TrainerResult result;
  const std::string warning = describe_short_data(session_.job());
  if (!warning.empty()) training_.say(warning);
  for (const auto& callback : callbacks_) callback->begin_training(training_);
  for (std::int64_t epoch = config_.fit.initial_epoch; epoch < config_.fit.epochs; ++epoch) {
    result.logs = run_epoch(epoch);
    const double loss = result.logs.at("loss");
    if (!std::isfinite(loss)) {
      result.failure = describe_failure(loss, epoch, runner_.bad_step().value_or(1));
      break;
    }
    if (training_.stop) break;
  }
  const bool is_well = result.failure.empty();
  const bool averages = averages_weights(config_.compile->optimizer);
  if (is_well && averages && iteration_ > 0) {
    session_.take_averages();
  }
  for (const auto& callback : callbacks_) callback->end_training(training_);
  result.is_usable = is_well || training_.restored;
  return result;
}

Logs Trainer::run_epoch(std::int64_t epoch) {
  for (const auto& callback : callbacks_) callback->begin_epoch(epoch, training_);
  const std::int64_t steps = loader_.steps_per_epoch();
  bar_.begin_epoch(epoch, config_.fit.epochs, steps);
  runner_.reset();
  for (std::int64_t step = 1; step <= steps && !training_.stop; ++step) run_step(epoch, step);
  Logs logs = runner_.logs();
  if (evaluator_ && is_validated(config_.fit, epoch)) validate(logs);
  if (logs_learning_rate()) logs["learning_rate"] = static_cast<double>(training_.learning_rate);
  share(logs, session_.hosts());
  for (const auto& callback : callbacks_) callback->end_epoch(epoch, logs, training_);
  bar_.finish(logs);
  if (files_.metrics) files_.metrics->add(epoch, logs);
  return logs;
}

void Trainer::run_step(std::int64_t epoch, std::int64_t step) {
  const double rate =
      schedule_ ? (*schedule_)(iteration_) : static_cast<double>(training_.learning_rate);
  runner_.step(loader_, iteration_, rate);
  if (files_.steps) files_.steps->add(iteration_, runner_.loss());
  ++iteration_;
  if (has_batch_callbacks_) {
    Logs logs = runner_.logs();
    share(logs, session_.hosts());
    for (const auto& callback : callbacks_) {
      if (callback->wants_batches()) callback->end_batch(epoch, step - 1, logs, training_);
    }
  }
  if (session_.is_first()) bar_.update(step, [&] { return runner_.logs(); });
}

void Trainer::validate(Logs& logs) {
  for (const auto& [name, value] : evaluator_->run()) logs["val_" + name] = value;
}

bool Trainer::logs_learning_rate() const {
  return std::any_of(known_logs_.begin(), known_logs_.end(),
                     [](const KnownLog& log) { return log.name == "learning_rate"; });
}

}  // namespace meshwork
