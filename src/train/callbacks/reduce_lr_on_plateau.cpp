// lr' = max(lr factor, min_lr) when the monitored number has not improved for `patience` epochs
#include <fmt/format.h>

#include <algorithm>

#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

double read_factor(config::Reader& args) {
  const double factor = args.get("factor", 0.1);
  if (!(factor >= 0 && factor < 1)) {
    fail_at(args.find("factor")->at, "{}: factor is {}; give 0 or more and less than 1",
            args.what(), factor);
  }
  return factor;
}

double read_least(config::Reader& args) {
  const double least = args.get("min_lr", 0.0);
  if (!(least >= 0)) {
    fail_at(args.find("min_lr")->at, "{}: min_lr is {}; give 0 or more", args.what(), least);
  }
  return least;
}

class ReduceLrOnPlateau : public Callback {
 public:
  ReduceLrOnPlateau(config::Reader& args, const CallbackContext& context)
      : monitor_(args, context, args.get("min_delta", 1e-4)),
        factor_(read_factor(args)),
        patience_(read_count(args, "patience", 10)),
        verbose_(read_verbose(args)),
        cooldown_(read_count(args, "cooldown", 0)),
        least_(read_least(args)) {}

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
