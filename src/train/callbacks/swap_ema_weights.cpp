// Validates with the averages of the weights that the optimizer keeps. With swap_on_epoch the
// callbacks behind it find them at the end of an epoch, too.
#include <optional>

#include "base/error.h"
#include "optim/optimizer.h"
#include "train/callbacks/callback.h"

namespace meshwork::callbacks {
namespace {

class SwapEmaWeights : public Callback {
 public:
  explicit SwapEmaWeights(config::Reader& args) : on_epoch_(args.get("swap_on_epoch", false)) {}

  void begin_validation(Training& training) override { take(training); }
  void end_validation(Training& training) override { give_back(training); }
  void end_epoch(std::int64_t, Logs&, Training& training) override {
    if (on_epoch_) take(training);
  }
  void after_epoch(Training& training) override { give_back(training); }

 private:
  void take(Training& training) {
    weights_ = training.copy_weights();
    training.take_averages();
  }

  void give_back(Training& training) {
    if (!weights_) return;
    training.restore_weights(*weights_);
    weights_.reset();
  }

  bool on_epoch_;
  std::optional<WeightsCopy> weights_;  ///< while averages stand in their place
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext& context) {
  if (!averages_weights(context.config.compile->optimizer)) {
    fail_at(args.at(), "{}: the optimizer keeps no averages of the weights; give it use_ema: true",
            args.what());
  }
  return std::make_unique<SwapEmaWeights>(args);
}

}  // namespace

const CallbackDef kSwapEmaWeights{
    .names = {"SwapEMAWeights", "swap_ema_weights"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
