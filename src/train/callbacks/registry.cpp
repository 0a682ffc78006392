#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "config/lookup.h"
#include "model/model.h"
#include "optim/optimizer.h"
#include "state/run_directory.h"
#include "train/callbacks/callback.h"
#include "train/run_files.h"

namespace meshwork {
namespace {

/// What Keras's others do, where something else does it here.
void refuse_elsewhere(const config::ClassSpec& spec) {
  static const std::map<std::string_view, const char*> kElsewhere{
      {"BackupAndRestore", "runs are saved as 'checkpoint' says, and go on with --resume"},
      {"OrbaxCheckpoint", "runs are saved as 'checkpoint' says, and go on with --resume"},
      {"History", "every run writes the numbers of its epochs to metrics.csv"},
      {"ProgbarLogger", "the option --verbose says how progress is shown"}};
  const auto elsewhere = kElsewhere.find(spec.name);
  if (elsewhere == kElsewhere.end()) return;
  fail_at(spec.at, "callback {}: {}; leave it out", spec.name, elsewhere->second);
}

const CallbackDef& find_callback(const config::ClassSpec& spec) {
  refuse_elsewhere(spec);
  return config::look_up(callback_registry(), spec, "callback");
}

/// An optimizer with a schedule lets nobody else set its learning rate.
void refuse_schedule(const config::ClassSpec& spec, const config::Config& config) {
  const auto schedule = schedule_of(config.compile->optimizer);
  if (!schedule) return;
  fail_at(spec.at,
          "callback {} sets the learning rate, but that of the optimizer follows the schedule {} "
          "at {}; give the optimizer a number, or remove the callback",
          spec.name, schedule->name, config::to_string(schedule->at));
}

}  // namespace

Json Callback::state() const { return Json::object(); }

const std::vector<const CallbackDef*>& callback_registry() {
  static const std::vector<const CallbackDef*> registry = {
      &callbacks::kCsvLogger,
      &callbacks::kEarlyStopping,
      &callbacks::kLearningRateScheduler,
      &callbacks::kModelCheckpoint,
      &callbacks::kReduceLrOnPlateau,
      &callbacks::kSwapEmaWeights,
      &callbacks::kTensorBoard,
      &callbacks::kTerminateOnNan,
  };
  return registry;
}

std::vector<KnownLog> known_logs(const config::Config& config) {
  std::vector<KnownLog> logs;
  const std::vector<LoggedValue> values = logged_values(config);
  for (const LoggedValue& value : values) logs.push_back({value.name, value.greater_is_better});
  if (config.fit.validation) {
    for (const LoggedValue& value : values) {
      logs.push_back({"val_" + value.name, value.greater_is_better});
    }
  }
  for (const config::ClassSpec& spec : config.fit.callbacks) {
    if (!find_callback(spec).sets_learning_rate) continue;
    logs.push_back({"learning_rate", std::nullopt});
    break;
  }
  return logs;
}

std::vector<std::unique_ptr<Callback>> make_callbacks(const config::Config& config) {
  const CallbackContext context{config, known_logs(config)};
  std::vector<std::unique_ptr<Callback>> callbacks;
  std::set<std::string> logs;
  for (const config::ClassSpec& spec : config.fit.callbacks) {
    const CallbackDef& def = find_callback(spec);
    if (def.sets_learning_rate) refuse_schedule(spec, config);
    config::Reader args(spec.args, fmt::format("callback {}", spec.name));
    callbacks.push_back(def.read(args, context));
    args.finish();
    const std::string log = callbacks.back()->log_file();
    if (!log.empty() && !logs.insert(log).second) {
      fail_at(spec.at, "callback {}: another one writes '{}', too; name another file", spec.name,
              log);
    }
  }
  return callbacks;
}

void check_callbacks(const config::Config& config) { make_callbacks(config); }

void check_best(const config::Config& config) {
  const std::string& name = config.checkpoint.best;
  std::vector<std::string> known;
  for (const KnownLog& log : known_logs(config)) {
    if (log.greater_is_better) known.push_back(log.name);
  }
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
  fail_at(config.checkpoint.at,
          "checkpoint: best: the run logs no '{}' that is better for being "
          "greater or less{}",
          name, suggestion(name, known));
}

void check_place(const std::string& path, const config::Location& at, const std::string& what) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (normal.is_absolute() || normal.empty()) return;
  if (is_of_run(normal.begin()->string())) {
    fail_at(at, "{}: the run itself writes '{}' in its directory; name another file", what,
            normal.begin()->string());
  }
  if (*normal.begin() != "..") return;
  fail_at(at,
          "{}: '{}' leaves the run directory, where relative paths start; give an absolute path if "
          "it is to stand elsewhere",
          what, path);
}

bool write_or_warn(Training& training, const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile) throw;
    training.say(fmt::format("warning: {}; training goes on without this file", error.what()));
    return false;
  }
}

std::string in_run_directory(const Training& training, const std::string& path) {
  return (std::filesystem::path(training.run_directory) / path).string();
}

bool is_in_run_directory(const std::string& path) {
  return std::filesystem::path(path).is_relative();
}

std::string place_of(const Training& training) {
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(training.run_directory, code);
  return std::filesystem::weakly_canonical(whole, code).string();
}

}  // namespace meshwork
