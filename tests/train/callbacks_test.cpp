// Callbacks over scripted logs. What they do was recorded from Keras 3.15 over the same logs.
#include "train/callbacks/callback.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "support/temp_directory.h"

using namespace meshwork;
using test::read_text;
using test::TempDirectory;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kValues{1.0, .8, .9, .7, .75, .72, .71, .6, .65};

std::string text_of(const std::string& callbacks, const std::string& fit = "validation: true") {
  return "model: {input: [2], layers: [{Dense: {units: 1}}]}\n"
         "compile: {loss: mse, metrics: [mae, accuracy], weighted_metrics: [mae]}\n"
         "fit: {" +
         fit + ", callbacks: [" + callbacks + "]}\n";
}

config::Config config_of(const std::string& text) {
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

Record play(const std::string& callbacks, const Script& script,
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
  training.together = [](const std::function<void()>& work) { work(); };
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
Script epochs_of(const std::vector<double>& values, const std::string& name = "val_loss") {
  Script script;
  for (const double value : values) {
    script.epochs.push_back({{"loss", 1.0}});
    script.epochs.back()[name] = value;
  }
  return script;
}

std::string error_of(const std::string& callbacks, const std::string& fit = "validation: true") {
  try {
    check_callbacks(config_of(text_of(callbacks, fit)));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kConfiguration);
    const std::string what = error.what();
    return what.substr(what.find(": ") + 2);
  }
  return "";
}

std::size_t stops_after(const std::string& arguments, const std::vector<double>& values = kValues) {
  return play("EarlyStopping: {" + arguments + "}", epochs_of(values)).epochs;
}

void check_rates(const std::string& callbacks, const std::vector<float>& expected) {
  const Record record = play(
      callbacks,
      epochs_of({kValues.begin(), kValues.begin() + static_cast<std::ptrdiff_t>(expected.size())}));
  INFO(callbacks);
  CHECK(record.rates == expected);
}

}  // namespace

TEST_CASE("EarlyStopping waits, stops and restores as Keras's does") {
  CHECK(stops_after("") == 3);
  CHECK(stops_after("patience: 2") == 6);
  CHECK(stops_after("patience: 3") == 7);
  CHECK(stops_after("patience: 2, min_delta: 0.15") == 4);
  CHECK(stops_after("patience: 2, min_delta: -0.15") == 4);
  CHECK(stops_after("patience: 2, baseline: 0.75") == 3);
  CHECK(stops_after("patience: 1, start_from_epoch: 4") == 9);
  CHECK(stops_after("patience: 2, mode: max") == 3);
  CHECK(stops_after("patience: 2", {kNaN, .5, .4, .3, .2}) == 3);
  CHECK(stops_after("", {1, 2, 3}) == 2);  // never in the first epoch

  const Record stopped = play(
      "EarlyStopping: {patience: 3, verbose: 1, restore_best_weights: true}", epochs_of(kValues));
  CHECK(stopped.epochs == 7);
  CHECK(stopped.restored == 3);
  CHECK(stopped.said ==
        std::vector<std::string>{"Epoch 7: early stopping",
                                 "Restoring model weights from the end of the best epoch: 4."});
  const Record whole =
      play("EarlyStopping: {patience: 9, verbose: true, restore_best_weights: true}",
           epochs_of(kValues));
  CHECK(whole.epochs == 9);
  CHECK(whole.restored == 7);
  CHECK(whole.said.size() == 1);
  CHECK_FALSE(play("EarlyStopping: {patience: 1}", epochs_of(kValues)).restored);
}

TEST_CASE("epochs without the monitored number do not count") {
  Script script = epochs_of({1.0, .9, .8, .95});
  script.epochs[1].erase("val_loss");
  script.epochs[2].erase("val_loss");
  CHECK(play("EarlyStopping: {patience: 2}", script).epochs == 4);
  CHECK(play("ReduceLROnPlateau: {patience: 1}", script).rates ==
        std::vector<float>{.01F, .01F, .01F, .01F});
}

TEST_CASE("mode auto takes the direction from the metric") {
  const std::vector<double> falling{.9, .8, .7};
  const auto epochs = [&](const std::string& arguments, const std::string& name) {
    return play("EarlyStopping: {" + arguments + "}", epochs_of(falling, name)).epochs;
  };
  CHECK(epochs("monitor: loss", "loss") == 3);
  CHECK(epochs("monitor: accuracy", "accuracy") == 2);
  CHECK(epochs("monitor: val_accuracy", "val_accuracy") == 2);
  CHECK(epochs("monitor: val_accuracy, mode: min", "val_accuracy") == 3);
  CHECK(epochs("monitor: val_mae", "val_mae") == 3);
  CHECK(epochs("monitor: val_weighted_mae", "val_weighted_mae") == 3);
}

TEST_CASE("ReduceLROnPlateau reduces when Keras's does") {
  check_rates("ReduceLROnPlateau: {patience: 1, factor: 0.5}",
              {.01F, .01F, .01F, .005F, .005F, .0025F, .00125F, .000625F, .000625F});
  check_rates("ReduceLROnPlateau: {patience: 2, factor: 0.1, cooldown: 2}",
              {.01F, .01F, .01F, .01F, .01F, .01F, 0.0009999999310821295F, 0.0009999999310821295F,
               0.0009999999310821295F});
  check_rates("ReduceLROnPlateau: {patience: 1, factor: 0.5, min_lr: 0.004}",
              {.01F, .01F, .01F, .005F, .005F, .004F, .004F, .004F, .004F});
  check_rates("ReduceLROnPlateau: {patience: 1, factor: 0.5, min_delta: 0.15}",
              {.01F, .01F, .01F, .005F, .0025F, .00125F, .000625F, .0003125F, .0003125F});
  check_rates("ReduceLROnPlateau", {.01F, .01F, .01F, .01F, .01F, .01F, .01F, .01F, .01F});
}

TEST_CASE("ReduceLROnPlateau logs the rate that the epoch had, and says what it sets") {
  const Record record =
      play("ReduceLROnPlateau: {patience: 1, factor: 0.5, verbose: 1}", epochs_of({1, .8, .9}));
  CHECK(record.logs.at("learning_rate") == static_cast<double>(.01F));
  CHECK(record.said ==
        std::vector<std::string>{
            "Epoch 3: ReduceLROnPlateau reducing learning rate to 0.004999999888241291."});
}

TEST_CASE("a later callback sees what an earlier one has set and logged") {
  const Record record = play(
      "ReduceLROnPlateau: {patience: 1, factor: 0.5}, LearningRateScheduler: {schedule: {3: "
      "0.125}}, EarlyStopping: {monitor: learning_rate, mode: min, patience: 1, start_from_epoch: "
      "1}",
      epochs_of({1, .8, .9, .7, .75}));
  CHECK(record.rates == std::vector<float>{.01F, .01F, .01F, .125F});
  CHECK(record.epochs == 4);
}

TEST_CASE("LearningRateScheduler reads classes, tables and lists, by epochs from 0") {
  check_rates("LearningRateScheduler: {schedule: {2: 0.5, 4: 0.25}}",
              {.01F, .01F, .5F, .5F, .25F, .25F});
  check_rates("LearningRateScheduler: {schedule: [0.5, 0.25, 0.125]}",
              {.5F, .25F, .125F, .125F, .125F});
  check_rates(
      "LearningRateScheduler: {schedule: {ExponentialDecay: {initial_learning_rate: 1, "
      "decay_steps: 1, decay_rate: 0.5}}}",
      {1, .5F, .25F, .125F});
  check_rates("LearningRateScheduler: {schedule: 0.25}", {.25F, .25F});
  const Record record =
      play("LearningRateScheduler: {schedule: [0.001], verbose: 1}", epochs_of({1}));
  CHECK(record.logs.at("learning_rate") == static_cast<double>(.001F));
  CHECK(record.said ==
        std::vector<std::string>{"Epoch 1: LearningRateScheduler setting learning rate to 0.001."});
}

TEST_CASE("TerminateOnNaN stops at the batch, or raises") {
  Script script = epochs_of({.5, .5, .5}, "loss");
  script.batches = 4;
  CHECK(play("TerminateOnNaN", script).epochs == 3);
  script.epochs[1]["loss"] = kNaN;
  const Record record = play("TerminateOnNaN", script);
  CHECK(record.epochs == 2);
  CHECK(record.said == std::vector<std::string>{"Batch 0: Invalid loss, terminating training"});
  script.epochs[1]["loss"] = -std::numeric_limits<double>::infinity();
  CHECK(play("TerminateOnNaN: {}", script).epochs == 2);
  std::string what;
  try {
    play("TerminateOnNaN: {raise_error: true}", script);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTraining);
    what = error.what();
  }
  CHECK(what.starts_with("NaN or Inf loss encountered at batch 0; loss value: -inf; "));
}

TEST_CASE("ModelCheckpoint saves what Keras's saves, under the same names") {
  const Script script = epochs_of({kValues.begin(), kValues.begin() + 5});
  const auto saved = [&](const std::string& arguments) {
    return play("ModelCheckpoint: {filepath: 'c/{epoch:02d}-{val_loss:.2f}.safetensors', " +
                    arguments + "}",
                script)
        .saved;
  };
  CHECK(saved("verbose: 0") ==
        std::vector<std::string>{"run/c/01-1.00.safetensors", "run/c/02-0.80.safetensors",
                                 "run/c/03-0.90.safetensors", "run/c/04-0.70.safetensors",
                                 "run/c/05-0.75.safetensors"});
  CHECK(saved("save_best_only: true, save_weights_only: true") ==
        std::vector<std::string>{"run/c/01-1.00.safetensors", "run/c/02-0.80.safetensors",
                                 "run/c/04-0.70.safetensors"});
  CHECK(saved("save_best_only: true, mode: max").size() == 1);
  const Record loud = play(
      "ModelCheckpoint: {filepath: /b.safetensors, save_best_only: true, verbose: 1, "
      "initial_value_threshold: 0.75}",
      script);
  CHECK(loud.saved == std::vector<std::string>{"/b.safetensors"});
  REQUIRE(loud.said.size() == 6);
  CHECK(loud.said[0] == "Epoch 1: val_loss did not improve from 0.75000");
  CHECK(loud.said[3] ==
        "Epoch 4: val_loss improved from 0.75000 to 0.70000, saving model to /b.safetensors");
  CHECK(loud.said[4] == "Epoch 4: finished saving model to /b.safetensors");
}

TEST_CASE("ModelCheckpoint counts batches across epochs") {
  Script script = epochs_of({kValues.begin(), kValues.begin() + 5}, "loss");
  script.batches = 4;
  const std::string file = "ModelCheckpoint: {filepath: '{epoch:02d}-{batch}.safetensors', ";
  CHECK(play(file + "save_freq: 3}", script).saved ==
        std::vector<std::string>{"run/01-3.safetensors", "run/02-2.safetensors",
                                 "run/03-1.safetensors", "run/03-4.safetensors",
                                 "run/04-3.safetensors", "run/05-2.safetensors"});
  CHECK(play(file + "save_freq: 3, save_best_only: true, monitor: loss}", script).saved ==
        std::vector<std::string>{"run/01-3.safetensors", "run/02-2.safetensors",
                                 "run/04-3.safetensors"});
}

TEST_CASE("ModelCheckpoint saves an epoch that it cannot judge, and says so") {
  Script script = epochs_of({.5, .6, .4});
  script.epochs[1].erase("val_loss");
  const Record record =
      play("ModelCheckpoint: {filepath: '{epoch}.safetensors', save_best_only: true}", script,
           "validation: true, validation_freq: [1, 3]");
  CHECK(record.saved ==
        std::vector<std::string>{"run/1.safetensors", "run/2.safetensors", "run/3.safetensors"});
  CHECK(record.said ==
        std::vector<std::string>{"Epoch 2: can save the best model only with val_loss, which was "
                                 "not computed; saving model to run/2.safetensors"});
}

TEST_CASE("file names follow Python's fields") {
  const auto name = [](const std::string& path) {
    const Script script = epochs_of({1e-5});
    return play("ModelCheckpoint: {filepath: '" + path + ".safetensors'}", script).saved.at(0);
  };
  CHECK(name("{{a}}{epoch}") == "run/{a}1.safetensors");
  CHECK(name("{val_loss}-{loss}-{loss:.0f}-{val_loss:.3e}") ==
        "run/1e-05-1.0-1-1.000e-05.safetensors");
  CHECK(name("{epoch:4d}|{epoch:<3}") == "run/   1|1  .safetensors");
}

TEST_CASE("CSVLogger writes what Python's csv module writes for Keras") {
  const TempDirectory directory;
  Script script;
  script.run_directory = directory.path();
  script.epochs = {{{"loss", .5}, {"accuracy", 1.0}},
                   {{"loss", 1e-5}, {"accuracy", kNaN}, {"val_loss", 3.0}}};
  play("CSVLogger: {filename: logs/a.csv}", script);
  CHECK(read_text(directory.file("logs/a.csv")) ==
        "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,1.0,0.5,NA,NA\r\n1,nan,1e-05,NA,3.0\r\n");
  script.epochs = {{{"loss", 2.0}, {"val_loss", 1.0 / 3}}};
  play("CSVLogger: {filename: b.csv, separator: ';'}", script);
  const std::string before = "epoch;loss;val_loss\r\n0;2.0;0.3333333333333333\r\n";
  CHECK(read_text(directory.file("b.csv")) == before);
  script.epochs = {{{"loss", 7.0}, {"val_loss", 1e16}}};
  play("CSVLogger: {filename: b.csv, append: true}", script);
  CHECK(read_text(directory.file("b.csv")) == before + "0,7.0,1e+16\r\n");
  play("CSVLogger: {filename: c.csv, append: true}", script);
  CHECK(read_text(directory.file("c.csv")) == "epoch,loss,val_loss\r\n0,7.0,1e+16\r\n");
  play("CSVLogger: {filename: b.csv}", script);
  CHECK(read_text(directory.file("b.csv")) == "epoch,loss,val_loss\r\n0,7.0,1e+16\r\n");
}

TEST_CASE("only the first device writes the log") {
  const TempDirectory directory;
  const auto list = make_callbacks(config_of(text_of("CSVLogger: {filename: a.csv}")));
  Training training;
  training.is_first = false;
  training.run_directory = directory.path();
  training.together = [](const std::function<void()>& work) { work(); };
  Logs logs{{"loss", 1}};
  list[0]->begin_training(training);
  list[0]->end_epoch(0, logs, training);
  CHECK_FALSE(std::filesystem::exists(directory.file("a.csv")));
}

TEST_CASE("what can be known to be wrong is an error before training") {
  CHECK(error_of("EarlyStoping") ==
        "there is no callback 'EarlyStoping'; nearest: 'EarlyStopping', 'early_stopping'");
  CHECK(error_of("EarlyStopping: {patients: 3}") ==
        "callback EarlyStopping has no key 'patients'; nearest: 'patience'");
  CHECK(error_of("EarlyStopping: {monitor: val_acuracy}") ==
        "callback EarlyStopping: the run logs no 'val_acuracy' to monitor; nearest: "
        "'val_accuracy', 'accuracy'");
  CHECK(error_of("EarlyStopping", "epochs: 2") ==
        "callback EarlyStopping: monitor 'val_loss' needs validation, and there is none; set "
        "fit.validation or validation_split, or monitor 'loss'");
  CHECK(error_of("EarlyStopping: {monitor: loss}", "epochs: 2") == "");
  CHECK(error_of("EarlyStopping: {mode: mim}") ==
        "callback EarlyStopping: mode 'mim' is unknown; nearest: 'min'");
  CHECK(error_of("ReduceLROnPlateau, EarlyStopping: {monitor: learning_rate}") ==
        "callback EarlyStopping: it cannot be said whether 'learning_rate' should rise or fall; "
        "give mode: min or max");
  CHECK(error_of("EarlyStopping: {patience: -1}") ==
        "callback EarlyStopping: patience is -1; give 0 or more");
  CHECK(error_of("ReduceLROnPlateau: {factor: 1.0}") ==
        "callback ReduceLROnPlateau: factor is 1; give 0 or more and less than 1");
  CHECK(error_of("LearningRateScheduler") ==
        "callback LearningRateScheduler needs the key 'schedule'");
  CHECK(error_of("LearningRateScheduler: {schedule: {0: 0.1, ten: 0.2}}") ==
        "schedule: 'ten' is no epoch, but other keys are; epochs count from 0");
  CHECK(error_of("LearningRateScheduler: {schedule: {Exponential: {}}}")
            .starts_with("there is no learning rate schedule 'Exponential'"));
  CHECK(error_of("LearningRateScheduler: {schedule: [-1]}") ==
        "a learning rate is -1; give 0 or more");
  CHECK(error_of("CSVLogger") == "callback CSVLogger needs the key 'filename'");
  CHECK(error_of("CSVLogger: {filename: a, separator: ', '}") ==
        "callback CSVLogger: separator ', ' must be one character");
}

TEST_CASE("a checkpoint's file name is checked before training") {
  const auto error = [](const std::string& arguments, const std::string& fit = "validation: true") {
    return error_of("ModelCheckpoint: {filepath: " + arguments + "}", fit);
  };
  CHECK(error("a.weights.h5") ==
        "callback ModelCheckpoint: filepath 'a.weights.h5' must end in .safetensors, the format "
        "that weights are saved in");
  CHECK(error("'{epok}.safetensors'") ==
        "callback ModelCheckpoint: filepath '{epok}.safetensors': there is no 'epok' to put in; "
        "nearest: 'epoch'");
  CHECK(
      error("'{epoch.safetensors'")
          .find("a '{' begins a field without end; write fields as in '{epoch:02d}-{loss:.2f}'") !=
      std::string::npos);
  CHECK(error("'epoch}.safetensors'").find("a '}' ends no field") != std::string::npos);
  CHECK(error("'{loss:02d}.safetensors'").find("':02d' does not fit loss") != std::string::npos);
  CHECK(error("'{batch}.safetensors'").find("there is no 'batch'") != std::string::npos);
  CHECK(error("'{batch}.safetensors', save_freq: 2") == "");
  CHECK(error("'{val_loss}.safetensors', save_freq: 2").find("there is no 'val_loss'") !=
        std::string::npos);
  CHECK(error("'{val_loss}.safetensors'", "validation: true, validation_freq: 2")
            .find("there is no 'val_loss'") != std::string::npos);
  CHECK(error("a.safetensors, save_freq: 0") ==
        "callback ModelCheckpoint: save_freq must be 'epoch' or a number of batches, not '0'");
  CHECK(error("a.safetensors, save_freq: 5, save_best_only: true") ==
        "callback ModelCheckpoint: 'val_loss' is known only at the end of an epoch; set save_freq: "
        "epoch, or monitor 'loss'");
  CHECK(error("a.safetensors", "epochs: 2") == "");
  CHECK(error("a.safetensors, save_best_only: true", "epochs: 2").find("needs validation") !=
        std::string::npos);
}

TEST_CASE("nobody else sets the learning rate of an optimizer that has a schedule") {
  const std::string text =
      "model: {input: [2], layers: [{Dense: {units: 1}}]}\n"
      "compile:\n  loss: mse\n"
      "  optimizer: {SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 1, decay_steps: "
      "9}}}}\n"
      "fit:\n  validation: true\n  callbacks:\n    - EarlyStopping:\n    - ReduceLROnPlateau:\n";
  std::string what;
  try {
    check_callbacks(config_of(text));
  } catch (const Error& error) {
    what = error.what();
  }
  CHECK(what ==
        "c.yaml:9:7: callback ReduceLROnPlateau sets the learning rate, but that of the optimizer "
        "follows the schedule CosineDecay at c.yaml:4:37; give the optimizer a number, or remove "
        "the callback");
}

TEST_CASE("the numbers that a run will log are known") {
  const auto names = [](const std::string& callbacks, const std::string& fit) {
    std::string text;
    for (const KnownLog& log : known_logs(config_of(text_of(callbacks, fit)))) {
      text += (text.empty() ? "" : " ") + log.name;
    }
    return text;
  };
  CHECK(names("", "epochs: 1") == "loss mae accuracy weighted_mae");
  CHECK(names("ReduceLROnPlateau: {monitor: loss}, LearningRateScheduler: {schedule: 1}",
              "validation: true") ==
        "loss mae accuracy weighted_mae val_loss val_mae val_accuracy val_weighted_mae "
        "learning_rate");
}
