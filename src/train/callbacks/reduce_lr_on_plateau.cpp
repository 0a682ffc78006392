// lr' = max(lr factor, min_lr) when the monitored number has not improved for `patience` epochs
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "state/json_integer.h"
#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

class ReduceLrOnPlateau : public Callback {
 public:
  ReduceLrOnPlateau(config::Reader& args, const CallbackContext& context)
      : monitor_(args, context, args.get("min_delta", 1e-4)),
        factor_(args.get("factor", 0.1, config::kFromZeroBelowOne)),
        patience_(args.get("patience", 10, config::at_least(0))),
        verbose_(read_verbose(args)),
        cooldown_(args.get("cooldown", 0, config::at_least(0))),
        least_(args.get("min_lr", 0.0, config::at_least(0))) {}

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    logs["learning_rate"] = static_cast<double>(training.learning_rate);
    const auto value = monitor_.find(logs);
    if (!value) return;
    if (cooling_ > 0) {
      --cooling_;
      wait_ = 0;
    }
    if (monitor_.improves(*value, best_)) {
      best_ = value;
      wait_ = 0;
    } else if (cooling_ == 0) {
      ++wait_;
      if (wait_ >= patience_) reduce(epoch, training);
    }
  }

  Json state() const override {
    Json json{{"best", number_to_json(best_)}, {"wait", wait_}, {"cooling", cooling_}};
    monitor_.add_to(json);
    return json;
  }

  void restore(const Json& state, Training& training) override {
    if (!monitor_.has_judged(state, "ReduceLROnPlateau", training)) return;
    best_ = optional_number_of(state.at("best"));
    wait_ = integer_of(state.at("wait"));
    cooling_ = integer_of(state.at("cooling"));
  }

 private:
  void reduce(std::int64_t epoch, Training& training) {
    if (training.learning_rate <= static_cast<float>(least_)) return;
    const double rate = std::max(static_cast<double>(training.learning_rate) * factor_, least_);
    training.learning_rate = static_cast<float>(rate);
    if (verbose_) {
      training.say(fmt::format("Epoch {}: ReduceLROnPlateau reducing learning rate to {}.",
                               epoch + 1, python_text(rate)));
    }
    cooling_ = cooldown_;
    wait_ = 0;
  }

  Monitor monitor_;
  double factor_;
  std::int64_t patience_;
  bool verbose_;
  std::int64_t cooldown_;
  double least_;
  std::int64_t cooling_ = 0;
  std::int64_t wait_ = 0;
  std::optional<double> best_;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext& context) {
  return std::make_unique<ReduceLrOnPlateau>(args, context);
}

}  // namespace

const CallbackDef kReduceLrOnPlateau{.names = {"ReduceLROnPlateau", "reduce_lr_on_plateau"},
                                     .sets_learning_rate = true,
                                     .read = read};

}  // namespace meshwork::callbacks
