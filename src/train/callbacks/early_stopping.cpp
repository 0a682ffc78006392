// Stops when the monitored number has not improved for `patience` epochs
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "state/json_integer.h"
#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

class EarlyStopping : public Callback {
 public:
  EarlyStopping(config::Reader& args, const CallbackContext& context)
      : monitor_(args, context, args.get("min_delta", 0.0)),
        patience_(args.get("patience", 0, config::at_least(0))),
        verbose_(read_verbose(args)),
        baseline_(args.get_real("baseline")),
        restores_(args.get("restore_best_weights", false)),
        start_(args.get("start_from_epoch", 0, config::at_least(0))) {}

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    const auto value = monitor_.find(logs);
    if (!value || epoch < start_) return;
    ++wait_;
    if (monitor_.improves(*value, best_)) {
      best_ = value;
      best_epoch_ = epoch;
      if (restores_) best_weights_ = training.copy_weights();
      best_is_sound_ = std::isfinite(logs.at(names::kLoss));
      // What is better than all before, but not than the baseline, gives no more time.
      if (!baseline_ || monitor_.improves(*value, baseline_)) wait_ = 0;
    } else if (wait_ >= patience_ && epoch > 0) {
      stopped_epoch_ = epoch;
      training.stop = true;
    }
  }

  void end_training(Training& training) override {
    if (stopped_epoch_ && verbose_) {
      training.say(fmt::format("Epoch {}: early stopping", *stopped_epoch_ + 1));
    }
    if (!best_weights_ || !best_) return;
    if (verbose_) {
      training.say(fmt::format("Restoring model weights from the end of the best epoch: {}.",
                               best_epoch_ + 1));
    }
    training.restore_weights(*best_weights_);
    // Keras takes a first epoch of NaNs for the best so far.
    training.restored = best_is_sound_;
  }

  Json state() const override {
    Json json{{"wait", wait_},
              {"best", number_to_json(best_)},
              {"best_epoch", best_epoch_},
              {"best_is_sound", best_is_sound_}};
    monitor_.add_to(json);
    if (stopped_epoch_) json["stopped_epoch"] = *stopped_epoch_;
    return json;
  }

  void restore(const Json& state, Training& training) override {
    if (!monitor_.has_judged(state, "EarlyStopping", training)) return;
    wait_ = integer_of(state.at("wait"));
    best_ = optional_number_of(state.at("best"));
    best_epoch_ = integer_of(state.at("best_epoch"));
    best_is_sound_ = state.at("best_is_sound").get<bool>();
    // More patience lets a run go on that was stopped.
    if (!state.contains("stopped_epoch") || wait_ < patience_) return;
    stopped_epoch_ = integer_of(state["stopped_epoch"]);
    training.stop = true;
  }

  std::optional<WeightsCopy>* kept_weights() override {
    return restores_ ? &best_weights_ : nullptr;
  }

 private:
  Monitor monitor_;
  std::int64_t patience_;
  bool verbose_;
  std::optional<double> baseline_;
  bool restores_;
  std::int64_t start_;
  std::int64_t wait_ = 0;
  std::optional<double> best_;
  std::int64_t best_epoch_ = 0;
  bool best_is_sound_ = false;
  std::optional<WeightsCopy> best_weights_;
  std::optional<std::int64_t> stopped_epoch_;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext& context) {
  return std::make_unique<EarlyStopping>(args, context);
}

}  // namespace

const CallbackDef kEarlyStopping{
    .names = {"EarlyStopping", "early_stopping"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
