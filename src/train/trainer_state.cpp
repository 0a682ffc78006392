// What a trainer saves of itself, when, and how it goes on from there
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/byte_size.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "comm/collectively.h"
#include "config/standalone.h"
#include "job/node_memory.h"
#include "machine/signals.h"
#include "state/json_integer.h"
#include "train/run_files.h"
#include "train/trainer.h"

namespace meshwork {
namespace {

using Unit = config::CheckpointSpec::Unit;

/// What a run writes at most at a time has to find its place: an Error where not even one
/// checkpoint and the final weights do, else a text to warn with, or "".
std::string check_space(const Session& session, const std::string& directory) {
  const config::CheckpointSpec& spec = session.job().config.checkpoint;
  const auto bytes_of = [](const std::vector<GlobalTensor>& tensors) {
    std::int64_t bytes = 0;
    for (const GlobalTensor& tensor : tensors) bytes += num_bytes({tensor.dtype, tensor.shape});
    return bytes;
  };
  const std::int64_t one = spec.wanted ? bytes_of(session.variables()) : 0;
  const std::int64_t weights = bytes_of(session.weights());
  const std::int64_t left = free_space(directory);
  if (left < one + weights) {
    fail(
        ExitCode::kFile,
        "{}: {} are left on the disk; a checkpoint takes {}, the final weights {}; free some, name "
        "another run_directory, or switch checkpoints off with 'checkpoint: false'",
        directory, show_bytes(left), show_bytes(one), show_bytes(weights));
  }
  const std::int64_t kept = one * (spec.keep + 1 + (spec.best.empty() ? 0 : 1));
  if (left >= kept + weights) return "";
  return fmt::format(
      "warning: {}: {} are left on the disk; the checkpoints that are kept take {}, the final "
      "weights {}; see checkpoint: keep",
      directory, show_bytes(left), show_bytes(kept), show_bytes(weights));
}

/// What decides which samples a step sees.
Json data_of(const Job& job) {
  const config::FitSpec& fit = job.config.fit;
  return {{"samples", job.split.samples},
          {"batch_size", fit.batch_size},
          {"seed", job.config.seed},
          {"shuffle", fit.shuffle},
          {"drop_remainder", fit.drop_remainder},
          {"initial_epoch", fit.initial_epoch},
          {"steps_per_epoch", fit.steps_per_epoch.value_or(0)}};
}

/// What `read` makes of the state in a checkpoint.
template <class Read>
auto read_state(const Checkpoint& checkpoint, Read read) {
  try {
    return read(parse_json<Json>(checkpoint.index().state, checkpoint.directory(), "its state"));
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: its state is damaged: {}", checkpoint.directory(), error.what());
  }
}

std::string prefix_of(std::size_t callback) { return fmt::format("callbacks[{}]/", callback); }

}  // namespace

Position position_of(const Checkpoint& checkpoint) {
  return read_state(checkpoint, [&](const Json& state) {
    const bool is_best = state.at("is_best").get<bool>();
    const std::string name = std::filesystem::path(checkpoint.directory()).filename().string();
    return Position{.steps = integer_of(state.at("steps")),
                    .iteration = integer_of(state.at("iteration")),
                    .learning_rate = number_of(state.at("learning_rate")),
                    .epoch = integer_of(state.at("epoch")),
                    .step = integer_of(state.at("step")),
                    .logs = logs_of(state.at("logs")),
                    .best = is_best ? name : state.at("best_checkpoint").get<std::string>()};
  });
}

namespace {

[[noreturn]] void refuse_samples(const Checkpoint& checkpoint, const Job& job,
                                 std::string_view use) {
  const std::string& name = job.dataset->name();
  fail(ExitCode::kFile,
       "{}: the samples{}{} are others than those of the run that is resumed, or read otherwise; "
       "bring its data back, or begin a new run with --from {}",
       checkpoint.directory(), name.empty() ? "" : fmt::format(" of '{}'", name), use,
       checkpoint.directory());
}

}  // namespace

config::Config config_of(const Checkpoint& checkpoint) {
  return config::parse_config(checkpoint.index().config,
                              checkpoint.directory() + " (its configuration)", {});
}

void check_same_data(const Checkpoint& checkpoint, const Job& job, const Fingerprints& mine) {
  const Json here = data_of(job);
  read_state(checkpoint, [&](const Json& state) {
    for (const auto& [key, value] : here.items()) {
      const Json& stored = state.at("data").at(key);
      if (stored == value) continue;
      fail(
          "{}: {} is {} here, {} in the run that is resumed; a run goes on with the same samples "
          "in the same order: leave {} as it was, or begin a new run with --from {}",
          checkpoint.directory(), key, json_dump(value), json_dump(stored), key,
          checkpoint.directory());
    }
    if (state.at("fingerprint") != mine.training) refuse_samples(checkpoint, job, "");
    // Not there in older states, and in runs that did not validate.
    const Json validation = state.value("validation_fingerprint", Json());
    if (validation.is_null() || !mine.validation || validation == *mine.validation) return;
    refuse_samples(checkpoint, job, " that it validates on");
  });
}

namespace {

void check_same_callbacks(const Checkpoint& checkpoint, const config::Config& config) {
  const auto& callbacks = config.fit.callbacks;
  read_state(checkpoint, [&](const Json& state) {
    const Json& stored = state.at("callbacks");
    for (std::size_t i = 0; i < callbacks.size(); ++i) {
      if (i < stored.size() && stored[i].at("name") == callbacks[i].name) continue;
      fail_at(callbacks[i].at,
              "callback {} is not the one that the run in {} had in this place; a run that is "
              "resumed keeps its callbacks",
              callbacks[i].name, checkpoint.directory());
    }
  });
}

}  // namespace

/// Whether checkpoints are written from copies. Warns where that is wanted and a node cannot hold
/// what they take from it a second time.
bool Trainer::copies_checkpoints() const {
  if (!config_.checkpoint.async) return false;
  const bool is_of_host = session_.device().reads_host_memory();
  const std::int64_t arena = is_of_host ? session_.arena_bytes() : 0;
  const std::int64_t copies = owned_bytes(session_.variables(), session_.variable_parts());
  if (have_node_memory(session_.job(), arena, copies, session_.hosts())) return true;
  training_.say(
      "warning: there is no memory for a copy of each checkpoint beside the model: training waits "
      "while one is written");
  return false;
}

Snapshot Trainer::snapshot(bool is_best) {
  const bool is_updated = iteration_ % steps_per_update(config_.compile->optimizer) == 0;
  if (!is_updated) session_.reduce_sums();  // else all sums are 0
  Snapshot snapshot{steps_, session_.variables(), session_.variable_parts(), {}};
  Json callbacks = Json::array();
  for (std::size_t i = 0; i < callbacks_.size(); ++i) {
    const std::optional<WeightsCopy>* kept = callbacks_[i]->kept_weights();
    const bool has_weights = kept != nullptr && kept->has_value();
    callbacks.push_back({{"name", config_.fit.callbacks[i].name},
                         {"state", callbacks_[i]->state()},
                         {"has_weights", has_weights}});
    if (!has_weights) continue;
    for (TensorPart& part : session_.parts_of(**kept)) {
      GlobalTensor tensor = session_.weights()[part.tensor];
      tensor.path = prefix_of(i) + tensor.path;
      part.tensor = snapshot.tensors.size();
      snapshot.tensors.push_back(tensor);
      snapshot.parts.push_back(std::move(part));
    }
  }
  const std::optional<double> best =
      is_best ? std::optional(logs_.at(config_.checkpoint.best)) : checkpointer_->best_value();
  const Json state{{"steps", steps_},
                   {"iteration", iteration_},
                   {"epoch", epoch_},
                   {"step", step_},
                   {"learning_rate", number_to_json(static_cast<double>(training_.learning_rate))},
                   {"configured_rate", number_to_json(static_cast<double>(configured_rate_))},
                   {"stop", training_.stop},
                   {"logs", logs_to_json(logs_)},
                   {"means", runner_.state()},
                   {"best", number_to_json(best)},
                   {"best_monitor", config_.checkpoint.best},
                   {"best_checkpoint", checkpointer_->best()},
                   {"is_best", is_best},
                   {"callbacks", callbacks},
                   {"seconds", pace_.seconds},
                   {"samples", pace_.samples},
                   {"files", files_ ? files_->state() : Json::object()},
                   {"data", data_of(session_.job())},
                   {"fingerprint", fingerprints_.training},
                   {"validation_fingerprint",
                    fingerprints_.validation ? Json(*fingerprints_.validation) : Json()}};
  snapshot.state = json_dump(state);
  return snapshot;
}

void Trainer::restore(const Checkpoint& checkpoint) {
  check_same_data(checkpoint, session_.job(), fingerprints_);
  check_same_callbacks(checkpoint, config_);
  training_.resumed = true;
  const Position position = position_of(checkpoint);
  iteration_ = position.iteration;
  epoch_ = position.epoch;
  step_ = position.step;
  logs_ = position.logs;
  read_state(checkpoint, [&](const Json& state) {
    const auto configured = state.find("configured_rate");
    restore_rate(number_of(state.at("learning_rate")),
                 configured == state.end() ? std::nullopt : optional_number_of(*configured));
    // At the end of an epoch the callbacks say it, which may be others now.
    training_.stop = step_ > 0 && state.at("stop").get<bool>();
    if (checkpointer_) restore_best(state, position.best);
    if (step_ > 0) {
      for (const std::string& name : runner_.restore(state.at("means"))) {
        training_.say(
            fmt::format("note: {}: the run that is resumed had no such metric; its mean of epoch "
                        "{} begins with step {}",
                        name, epoch_ + 1, step_ + 1));
      }
    }
    pace_ = {state.at("seconds").get<double>(), state.at("samples").get<double>()};
  });
}

void Trainer::restore_best(const Json& state, const std::string& checkpoint) {
  const std::string& name = config_.checkpoint.best;
  const std::string before = state.value("best_monitor", name);
  // In older states a value may be of a checkpoint that could not be written.
  const bool is_known = before == name && !checkpoint.empty();
  checkpointer_->set_best(checkpoint,
                          is_known ? optional_number_of(state.at("best")) : std::nullopt);
  if (before != name && !before.empty() && !name.empty()) {
    training_.say(
        fmt::format("note: checkpoint: best begins anew with {}; the run that is resumed went by "
                    "{}",
                    name, before));
  }
}

/// The rate that the run has come to, unless the configuration now says another than it did then.
void Trainer::restore_rate(double rate, std::optional<double> configured) {
  if (!configured || static_cast<float>(*configured) == configured_rate_) {
    training_.learning_rate = static_cast<float>(rate);
  } else if (!schedule_) {
    training_.say(
        fmt::format("goes on with the learning rate {:.9g} of the configuration; it was "
                    "{:.9g}",
                    configured_rate_, rate));
  }
}

void Trainer::restore_callbacks(const Checkpoint& checkpoint) {
  read_state(checkpoint, [&](const Json& state) {
    const Json& stored = state.at("callbacks");
    for (std::size_t i = 0; i < callbacks_.size(); ++i) {
      callbacks_[i]->restore(stored[i].at("state"), training_);
      if (!stored[i].at("has_weights").get<bool>()) continue;
      if (auto* kept = callbacks_[i]->kept_weights()) {
        *kept = session_.read_copy(checkpoint, prefix_of(i));
      }
    }
  });
  if (!training_.stop || step_ > 0 || epoch_ >= config_.fit.epochs) return;
  training_.say(
      fmt::format("note: the run was stopped early after epoch {}, and no epoch is trained; to go "
                  "on, give the callback that stopped it more patience, or leave it out",
                  epoch_));
}

void Trainer::open_files(const RunDirectory& directory, const Start& start) {
  collectively(session_.hosts(), [&] {
    if (!session_.is_first()) return;
    directory.remove_old();
    start.on_begin();
    const std::string warning = check_space(session_, directory.path());
    if (!warning.empty()) training_.say(warning);
    replace_file(directory.path() + "/" + kConfigFile,
                 config::standalone_text(config_, directory.path()));
    const Json old = resumed_ == nullptr ? Json() : read_state(*resumed_, [](const Json& state) {
      return state.at("files");
    });
    std::vector<std::string> names;
    for (const KnownLog& log : known_logs_) names.push_back(log.name);
    files_.emplace(config_.fit, directory.path(), names, old, training_.say);
  });
}

/// The first step of the epoch whose loss was no number: the weights are none any more. All devices
/// call it.
std::optional<std::int64_t> Trainer::bad_step() {
  std::int64_t step = runner_.bad_step().value_or(0);
  session_.hosts().broadcast(&step, sizeof step, 0);
  return step == 0 ? std::nullopt : std::optional(step);
}

void Trainer::save(bool is_best) {
  is_due_ = false;
  saved_at_ = steady_seconds();
  if (!checkpointer_) return;
  if (const auto step = bad_step()) {
    if (std::exchange(has_told_bad_step_, true)) return;
    training_.say(
        fmt::format("warning: epoch {}, step {}: the loss is no number; no checkpoint is written "
                    "any more, and those that are there stay",
                    epoch_ + 1, *step));
    return;
  }
  checkpointer_->complete();  // and may be the best one by now
  const std::string& name = config_.checkpoint.best;
  checkpointer_->save(snapshot(is_best), is_best ? std::optional(logs_.at(name)) : std::nullopt);
}

/// Whether the epoch that has ended is better than all before, by the number that is asked for.
bool Trainer::is_best() {
  const std::string& name = config_.checkpoint.best;
  const auto value = logs_.find(name);
  if (!checkpointer_ || name.empty() || value == logs_.end()) return false;
  if (std::isnan(value->second)) return false;
  checkpointer_->complete();
  const auto known = std::find_if(known_logs_.begin(), known_logs_.end(),
                                  [&](const KnownLog& log) { return log.name == name; });
  const bool greater = known->greater_is_better.value_or(false);
  const std::optional<double> best = checkpointer_->best_value();
  return !best || (greater ? value->second > *best : value->second < *best);
}

void Trainer::save_after_epoch() {
  take(pulse_.ask(signs()));
  const bool best = is_best();
  const config::CheckpointSpec& spec = config_.checkpoint;
  const bool is_last = epoch_ == config_.fit.epochs || training_.stop || signal_ != 0;
  const bool is_due =
      spec.unit == Unit::kEpochs && epoch_ % static_cast<std::int64_t>(spec.every) == 0;
  if (is_due || is_due_ || is_last || best) save(best);
}

Signs Trainer::signs() const {
  const config::CheckpointSpec& spec = config_.checkpoint;
  return {.signal = noted_signal(),
          .is_due = spec.unit == Unit::kSeconds && steady_seconds() - saved_at_ >= spec.every,
          .has_written = !checkpointer_ || checkpointer_->has_written()};
}

void Trainer::take(const Signs& signs) {
  signal_ = signs.signal;
  is_due_ = is_due_ || signs.is_due;
  if (signs.has_written && checkpointer_) checkpointer_->complete();
}

void Trainer::listen() {
  const config::CheckpointSpec& spec = config_.checkpoint;
  if (const auto all = pulse_.after_step(signs())) take(*all);
  is_due_ =
      is_due_ || (spec.unit == Unit::kSteps && steps_ % static_cast<std::int64_t>(spec.every) == 0);
}

}  // namespace meshwork
