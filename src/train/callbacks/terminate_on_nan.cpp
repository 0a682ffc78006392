// Ends training at the first batch after which the loss is no finite number
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

class TerminateOnNan : public Callback {
 public:
  explicit TerminateOnNan(config::Reader& args) : raises_(args.get("raise_error", false)) {}

  void end_batch(std::int64_t, std::int64_t batch, const Logs& logs, Training& training) override {
    const double loss = logs.at(names::kLoss);
    if (std::isfinite(loss)) return;
    if (raises_) {
      fail(ExitCode::kTraining,
           "NaN or Inf loss encountered at batch {}; loss value: {}; training is terminated "
           "immediately, as callback TerminateOnNaN says",
           batch, python_text(loss));
    }
    if (!training.stop) {
      training.say(fmt::format("Batch {}: Invalid loss, terminating training", batch));
    }
    stopped_ = training.stop = true;
  }

  bool wants_batches() const override { return true; }

  Json state() const override { return {{"stopped", stopped_}}; }

  void restore(const Json& state, Training& training) override {
    stopped_ = state.value("stopped", false);
    if (stopped_) training.stop = true;
  }

 private:
  bool raises_;
  bool stopped_ = false;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext&) {
  return std::make_unique<TerminateOnNan>(args);
}

}  // namespace

const CallbackDef kTerminateOnNan{
    .names = {"TerminateOnNaN", "terminate_on_nan"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
