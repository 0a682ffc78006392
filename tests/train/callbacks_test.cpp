// Callbacks over scripted logs. What they do was recorded from Keras 3.15 over the same logs.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "scripted_logs.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::testing::scripted;
using test::read_text;
using test::TempDirectory;

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

TEST_CASE("best values of another number are not gone on with") {
  for (const char* callback :
       {"EarlyStopping: {", "ReduceLROnPlateau: {",
        "ModelCheckpoint: {filepath: a.safetensors, save_best_only: true, "}) {
    CAPTURE(callback);
    const auto make = [&](const std::string& arguments) {
      return make_callbacks(config_of(text_of(callback + arguments + "}")));
    };
    std::string said;
    Training training;
    training.say = [&](const std::string& line) { said += line; };
    training.save_weights = [](const std::string&) {};
    const auto before = make("monitor: val_loss");
    Logs logs{{"loss", 1.0}, {"val_loss", 0.25}, {"val_mae", 0.5}};
    before[0]->end_epoch(0, logs, training);
    const Json state = before[0]->state();
    CHECK(state.at("best") == 0.25);
    const auto same = make("monitor: val_loss");
    same[0]->restore(state, training);
    CHECK(same[0]->state() == state);
    CHECK(said == "");
    for (const char* other : {"monitor: val_mae", "mode: max"}) {
      const auto after = make(other);
      after[0]->restore(state, training);
      CHECK(after[0]->state().at("best").is_null());
      CHECK(said.find(" begins anew with the best val_") != std::string::npos);
      said.clear();
    }
  }
}

TEST_CASE("what can be known to be wrong is an error before training") {
  CHECK(error_of("EarlyStoping") ==
        "there is no callback 'EarlyStoping'; nearest: 'EarlyStopping', 'early_stopping'");
  CHECK(error_of("BackupAndRestore: {backup_dir: x}") ==
        "callback BackupAndRestore: runs are saved as 'checkpoint' says, and go on with --resume; "
        "leave it out");
  CHECK(error_of("SwapEMAWeights") ==
        "callback SwapEMAWeights: the optimizer keeps no averages of the weights; give it use_ema: "
        "true");
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
        "callback ReduceLROnPlateau: factor is 1.0; give 0 or more and less than 1");
  CHECK(error_of("LearningRateScheduler") ==
        "callback LearningRateScheduler needs the key 'schedule'");
  CHECK(error_of("LearningRateScheduler: {schedule: {0: 0.1, ten: 0.2}}") ==
        "schedule: 'ten' is no epoch, but other keys are; epochs count from 0");
  for (const std::string key : {"-1", "1.5", "+-2"}) {
    CHECK(error_of("LearningRateScheduler: {schedule: {" + key + ": 0.1}}") ==
          "schedule: '" + key + "' is no epoch; epochs are whole numbers from 0 on");
  }
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
