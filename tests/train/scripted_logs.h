#pragma once

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"
#include "train/callbacks/callback.h"

namespace meshwork::testing::scripted {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const std::vector<double> kValues{1.0, .8, .9, .7, .75, .72, .71, .6, .65};

inline std::string text_of(const std::string& callbacks,
                           const std::string& fit = "validation: true") {
  return "model: {input: [2], layers: [{Dense: {units: 1}}]}\n"
         "compile: {loss: mse, metrics: [mae, accuracy], weighted_metrics: [mae]}\n"
         "fit: {" +
         fit + ", callbacks: [" + callbacks + "]}\n";
}

inline config::Config config_of(const std::string& text) {
  return config::parse_config(text, "c.yaml", {});
}

/// What callbacks did in a run without a model. Weights are the number of their epoch.
struct Record {
  std::size_t epochs = 0;
  std::optional<int> restored;
  std::vector<float> rates;  ///< in each epoch
  std::vector<std::string> saved, said;
  Logs logs;  ///< of the last epoch
};

struct Script {
  std::vector<Logs> epochs;
  std::int64_t batches = 0;
  std::string run_directory = "run";
};

inline Record play(const std::string& callbacks, const Script& script,
                   const std::string& fit = "validation: true") {
  const auto list = make_callbacks(config_of(text_of(callbacks, fit)));
  Record record;
  Training training;
  int now = 0;
  training.learning_rate = 0.01F;
  training.run_directory = script.run_directory;
  training.say = [&](const std::string& line) { record.said.push_back(line); };
  training.save_weights = [&](const std::string& file) { record.saved.push_back(file); };
  training.copy_weights = [&] { return WeightsCopy{{static_cast<std::byte>(now)}}; };
  training.restore_weights = [&](const WeightsCopy& copy) {
    record.restored = static_cast<int>(copy[0][0]);
  };
  training.collectively = [](const std::function<void()>& work) { work(); };
  for (const auto& callback : list) callback->begin_training(training);
  for (const Logs& given : script.epochs) {
    Logs logs = given;
    for (const auto& callback : list) callback->begin_epoch(now, training);
    record.rates.push_back(training.learning_rate);
    for (std::int64_t batch = 0; batch < script.batches && !training.stop; ++batch) {
      for (const auto& callback : list) {
        if (callback->wants_batches()) callback->end_batch(now, batch, logs, training);
      }
    }
    for (const auto& callback : list) callback->end_epoch(now, logs, training);
    ++record.epochs;
    record.logs = logs;
    if (training.stop) break;
    ++now;
  }
  for (const auto& callback : list) callback->end_training(training);
  return record;
}

/// An epoch for each value, under `name`.
inline Script epochs_of(const std::vector<double>& values, const std::string& name = "val_loss") {
  Script script;
  for (const double value : values) {
    script.epochs.push_back({{"loss", 1.0}});
    script.epochs.back()[name] = value;
  }
  return script;
}

inline std::string error_of(const std::string& callbacks,
                            const std::string& fit = "validation: true") {
  try {
    check_callbacks(config_of(text_of(callbacks, fit)));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kConfiguration);
    const std::string what = error.what();
    return what.substr(what.find(": ") + 2);
  }
  return "";
}

inline std::size_t stops_after(const std::string& arguments,
                               const std::vector<double>& values = kValues) {
  return play("EarlyStopping: {" + arguments + "}", epochs_of(values)).epochs;
}

inline void check_rates(const std::string& callbacks, const std::vector<float>& expected) {
  const Record record = play(
      callbacks,
      epochs_of({kValues.begin(), kValues.begin() + static_cast<std::ptrdiff_t>(expected.size())}));
  INFO(callbacks);
  CHECK(record.rates == expected);
}

}  // namespace meshwork::testing::scripted
