#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "job/session.h"
#include "train/json_numbers.h"
#include "train/logs.h"

namespace meshwork {

/// What a callback sees of a run and may do to it, on one of its devices. Logs and learning rate
/// are the same on all of them, so all callbacks decide alike.
struct Training {
  float learning_rate = 0;    ///< of the steps to come; has no effect on an optimizer's schedule
  bool stop = false;          ///< set: this epoch is the last, and ends now
  bool restored = false;      ///< set: the weights are those of an earlier epoch, and numbers
  bool is_first = true;       ///< this device writes files for all
  std::string run_directory;  ///< where relative paths start
  bool resumed = false;       ///< goes on from a checkpoint: files are added to
  bool overwrites = false;    ///< what an earlier run has left in its directory goes
  /// The learning rate of the step to come, also where the optimizer has a schedule.
  std::function<double()> current_rate;
  std::function<std::int64_t()> iterations;          ///< updates of the weights that are done
  std::function<void(const std::string& line)> say;  ///< prints a line, on the first device
  std::function<void(const std::string& file)> save_weights;  ///< all devices together
  std::function<WeightsCopy()> copy_weights;
  std::function<void(const WeightsCopy&)> restore_weights;
  /// Puts the averages that the optimizer keeps in the place of the weights.
  std::function<void()> take_averages;
  /// Does work on this device that may fail, and throws on all if it failed on one.
  std::function<void(const std::function<void()>& work)> collectively;
};

/// Something that happens beside training, as in Keras. Epochs and batches (of an epoch) count
/// from 0. Logs are means over the epoch so far. All devices make the same calls.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void begin_training(Training&) {}
  virtual void begin_epoch(std::int64_t /*epoch*/, Training&) {}
  /// Called only where wants_batches() says so.
  virtual void end_batch(std::int64_t /*epoch*/, std::int64_t /*batch*/, const Logs&, Training&) {}
  /// Around the validation of an epoch, also of one that a signal ends.
  virtual void begin_validation(Training&) {}
  virtual void end_validation(Training&) {}
  /// After validation. What is added to `logs` is seen by the callbacks that follow, in the
  /// progress bar and in metrics.csv.
  virtual void end_epoch(std::int64_t /*epoch*/, Logs&, Training&) {}
  /// Behind end_epoch() of all callbacks: the weights must be those of training again.
  virtual void after_epoch(Training&) {}
  virtual void end_training(Training&) {}

  virtual bool wants_batches() const { return false; }
  /// The log that it adds to, which no other may; "" for none.
  virtual std::string log_file() const { return ""; }

  /// What a run that goes on from here has to know of this callback, as JSON; and takes it back,
  /// behind begin_training(). What restore() throws as Json::exception is an index that is damaged.
  virtual Json state() const;
  virtual void restore(const Json& /*state*/, Training&) {}
  /// Weights that it keeps, which are saved and restored with it.
  virtual std::optional<WeightsCopy>* kept_weights() { return nullptr; }
};

/// A number that a run will log, known before it starts.
struct KnownLog {
  std::string name;                       ///< "val_accuracy"
  std::optional<bool> greater_is_better;  ///< none where it cannot be said
};

/// What is known when a callback is read.
struct CallbackContext {
  const config::Config& config;
  std::vector<KnownLog> logs;
};

/// One callback, in the list of registry.cpp. `read` throws Error for whatever is wrong with the
/// arguments.
struct CallbackDef {
  std::vector<std::string_view> names;
  bool sets_learning_rate = false;  ///< then it logs `learning_rate`
  std::unique_ptr<Callback> (*read)(config::Reader& args, const CallbackContext& context);
};

const std::vector<const CallbackDef*>& callback_registry();

/// All numbers that `fit` will log: loss and metrics; those of validation, if there is one;
/// learning_rate, if a callback sets it.
std::vector<KnownLog> known_logs(const config::Config& config);

/// The callbacks of `fit`, in order; the configuration has a `compile` section. Throws Error with
/// the place for what can be known to be wrong before training.
std::vector<std::unique_ptr<Callback>> make_callbacks(const config::Config& config);

/// Throws that Error.
void check_callbacks(const config::Config& config);

/// The same for the number by which checkpoints are compared.
void check_best(const config::Config& config);

/// Writes a file of a callback. Where the file fails it says so, and that training goes on without
/// it, and returns false.
bool write_or_warn(Training& training, const std::function<void()>& write);

/// Throws an Error with the place for a relative path that leaves the run directory, or is what the
/// run itself writes there; `what` names the callback.
void check_place(const std::string& path, const config::Location& at, const std::string& what);

/// A file that a callback names: relative paths start in the run directory.
std::string in_run_directory(const Training& training, const std::string& path);
bool is_in_run_directory(const std::string& path);

/// The whole path of the run directory: that of a copy of a run is another one.
std::string place_of(const Training& training);

namespace callbacks {
extern const CallbackDef kCsvLogger;
extern const CallbackDef kEarlyStopping;
extern const CallbackDef kLearningRateScheduler;
extern const CallbackDef kModelCheckpoint;
extern const CallbackDef kReduceLrOnPlateau;
extern const CallbackDef kSwapEmaWeights;
extern const CallbackDef kTensorBoard;
extern const CallbackDef kTerminateOnNan;
}  // namespace callbacks

}  // namespace meshwork
