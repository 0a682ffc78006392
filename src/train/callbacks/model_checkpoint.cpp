// Saves the weights after every epoch or so many batches, or the best of them
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "state/json_integer.h"
#include "train/callbacks/file_name.h"
#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

/// Batches between savings; none: after every epoch.
std::optional<std::int64_t> read_frequency(config::Reader& args) {
  const config::Value* value = args.find("save_freq");
  if (value == nullptr || (value->is_scalar() && value->scalar == "epoch")) return std::nullopt;
  if (!value->is_integer() || value->as_integer("save_freq") < 1) {
    fail_at(value->at, "{}: save_freq must be 'epoch' or a number of batches, not {}", args.what(),
            config::describe(*value));
  }
  return value->as_integer("save_freq");
}

/// The names that a file may take from the logs: such as they have whenever it is saved.
std::vector<std::string> log_names(const CallbackContext& context, bool within_epoch) {
  const config::FitSpec& fit = context.config.fit;
  const bool always_validates = fit.validation_freq == 1 && fit.validation_epochs.empty();
  std::vector<std::string> names;
  for (const KnownLog& log : context.logs) {
    const bool is_late = within_epoch && log.name == "learning_rate";
    const bool may_lack = log.name.starts_with("val_") && (within_epoch || !always_validates);
    if (!is_late && !may_lack) names.push_back(log.name);
  }
  return names;
}

FileName read_path(config::Reader& args, const CallbackContext& context, bool within_epoch) {
  const config::Value& value = args.require("filepath");
  const std::string path = value.as_string("filepath");
  check_place(path, value.at, args.what());
  constexpr std::string_view kSuffix = ".safetensors";
  if (!path.ends_with(kSuffix)) {
    fail_at(value.at, "{}: filepath '{}' must end in {}, the format that weights are saved in",
            args.what(), path, kSuffix);
  }
  std::vector<std::string> counts{"epoch"};
  if (within_epoch) counts.emplace_back("batch");
  return {value, args.what(), counts, log_names(context, within_epoch)};
}

class ModelCheckpoint : public Callback {
 public:
  ModelCheckpoint(config::Reader& args, const CallbackContext& context)
      : every_(read_frequency(args)),
        path_(read_path(args, context, every_.has_value())),
        verbose_(read_verbose(args)),
        best_(args.get_real("initial_value_threshold")) {
    args.get("save_weights_only", false);  // the run directory has the rest in config.yaml
    const bool best_only = args.get("save_best_only", false);
    const bool is_read = best_only || args.find("monitor") != nullptr;
    if (is_read) {
      monitor_.emplace(args, context);
    } else {
      args.find("mode");
    }
    if (!best_only) {
      monitor_.reset();
    } else if (every_ && monitor_->name().starts_with("val_")) {
      fail_at(
          args.at(),
          "{}: '{}' is known only at the end of an epoch; set save_freq: epoch, or monitor '{}'",
          args.what(), monitor_->name(), monitor_->name().substr(4));
    }
  }

  void begin_training(Training& training) override {
    if (training.is_first && is_in_run_directory(path_.folder())) remove_leftovers(training);
  }

  void end_batch(std::int64_t epoch, std::int64_t batch, const Logs& logs,
                 Training& training) override {
    if (!every_ || ++batches_ < *every_) return;
    batches_ = 0;
    save({{"epoch", epoch + 1}, {"batch", batch + 1}}, logs, training);
  }

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    if (!every_) save({{"epoch", epoch + 1}}, logs, training);
  }

  bool wants_batches() const override { return every_.has_value(); }

  Json state() const override {
    Json json{{"best", number_to_json(best_)}, {"batches", batches_}};
    if (monitor_) monitor_->add_to(json);
    return json;
  }

  void restore(const Json& state, Training& training) override {
    batches_ = integer_of(state.at("batches"));
    if (monitor_ && !monitor_->has_judged(state, "ModelCheckpoint", training)) return;
    best_ = optional_number_of(state.at("best"));
  }

 private:
  /// Removes what a run that was killed has not ended. Outside the run directory it may be what
  /// another run is writing.
  void remove_leftovers(const Training& training) const {
    namespace fs = std::filesystem;
    const std::string folder = in_run_directory(training, path_.folder());
    std::error_code code, ignored;
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
      const std::string name = entry->path().lexically_relative(folder).string();
      const std::string_view file = file_of_partial(name);
      if (!file.empty() && path_.may_give(path_.folder() + std::string(file))) {
        found.push_back(entry->path());
      }
    }
    for (const fs::path& partial : found) fs::remove(partial, ignored);
  }

  void save(const std::map<std::string, std::int64_t>& counts, const Logs& logs,
            Training& training) {
    const std::string file = in_run_directory(training, path_.format(counts, logs));
    const std::int64_t epoch = counts.at("epoch");
    if (!should_save(epoch, logs, file, training)) return;
    if (!write_or_warn(training, [&] { training.save_weights(file); })) return;
    const auto value = monitor_ ? monitor_->find(logs) : std::nullopt;
    if (value) best_ = value;
    if (!verbose_) return;
    training.say(fmt::format("Epoch {}: finished saving model to {}", epoch, file));
  }

  bool should_save(std::int64_t epoch, const Logs& logs, const std::string& file,
                   Training& training) {
    const auto say = [&](const std::string& text) {
      if (verbose_) training.say(fmt::format("Epoch {}: {}", epoch, text));
    };
    if (!monitor_) {
      say("saving model to " + file);
      return true;
    }
    const auto value = monitor_->find(logs);
    if (!value) {
      training.say(
          fmt::format("Epoch {}: can save the best model only with {}, which was not "
                      "computed; saving model to {}",
                      epoch, monitor_->name(), file));
      return true;
    }
    const std::string best = best_ ? fmt::format("{:.5f}", without_nan_sign(*best_)) : "None";
    if (!monitor_->improves(*value, best_)) {
      say(fmt::format("{} did not improve from {}", monitor_->name(), best));
      return false;
    }
    say(fmt::format("{} improved from {} to {:.5f}, saving model to {}", monitor_->name(), best,
                    without_nan_sign(*value), file));
    return true;
  }

  std::optional<std::int64_t> every_;
  FileName path_;
  bool verbose_;
  std::optional<double> best_;
  std::optional<Monitor> monitor_;  ///< with save_best_only
  std::int64_t batches_ = 0;        ///< since the last saving
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext& context) {
  return std::make_unique<ModelCheckpoint>(args, context);
}

}  // namespace

const CallbackDef kModelCheckpoint{
    .names = {"ModelCheckpoint", "model_checkpoint"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
